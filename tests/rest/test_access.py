"""The callers that each operation allows: anonymous (n), signed in (s), the owner (o), an admin (a).

`name@draft_id=card_id` calls an operation with another entity: the draft in place of the card. A caller that is not
allowed gets 401 or 403, an allowed one any other status.
"""

from itertools import count
from typing import Any

import pytest

from partita.rest.openapi import openapi, operation_id
from partita.rest.routes import Route
from partita_systems import SYSTEMS
from tests.rest.client import Client
from tests.rest.system_fixtures import SYSTEM_FIXTURES

pytestmark = pytest.mark.slow

ACCESS = {
    "checks": """
        me .soa  register .soa  find_user ...a  user ..oa  delete_user ...a  change_email ..o.  change_allowance ...a
        suspend ...a  reinstate ...a  add_check .soa  check ..oa  delete_check ..oa  checks_of_user ..oa
        checks_by_type_and_status ...a  change_check ..o.  pause ..o.  resume ..o.  uptime ..oa  results ..oa
        claim ...a  record ...a  check_types nsoa  checks_by_id .soa
        alerts ..oa  get_result_events ..oa  create_result_events_ticket ..oa
    """,
    "perfectit": """
        me .soa  register .soa  user nsoa  change_user ..o.  delete_user ..oa  change_username ..o.
        user_by_username nsoa  cards_by_author nsoa  drafts_of_author ..o.  comments_of_user nsoa  recent_cards nsoa
        top_voted nsoa  cards_by_id nsoa  cards_of_day nsoa  controversial nsoa  trending nsoa  search nsoa
        create_draft .soa  card nsoa  card@draft_id=card_id ..oa  edit_card ..oa  edit_card@draft_id=card_id ..oa
        publish_card ..o.  create_drafts .soa  collect_many ..o.  unread_notifications ..o.
        publish_card@draft_id=card_id ..o.  remove_card ..oa  comments_of_card nsoa  comment nsoa  change_comment ..o.
        add_comment .soa  remove_comment ..oa  votes_of_target ...a  vote ..oa  cast_vote ..o.  withdraw_vote ..o.
        vote_on_comment ..o.  withdraw_vote_on_comment ..o.  collections_of_user nsoa  collection nsoa
        change_collection ..o.  delete_collection ..o.  new_collection ..o.  collection_by_id nsoa
        cards_of_collection nsoa  collect ..o.  uncollect ..o.  root_categories nsoa  category nsoa
        subcategories nsoa  cards_by_category nsoa  add_category ...a  change_category ...a  remove_category ...a
        notifications_of_user ..o.  notification ..o.  delete_notification ..o.  read_notification ..o.
        users_by_id nsoa
        read_all_notifications ..o.  metrics_between ...a  metrics_of_day ...a  sweep_collection ..oa  notify ...a
        trend ...a  set_trend ...a  delete_trend ...a  count_views ...a  set_metrics ...a  delete_metrics ...a
        get_notification_events ..o.  create_notification_events_ticket ..o.
    """,
    "blog": """
        me .soa  register .soa  profile nsoa  change_profile ..o.  remove_user ..oa  users_by_role ...a
        assign_role ...a  posts_of_author nsoa  drafts_of_author ..oa  comments_of_user nsoa  likes_of_user nsoa
        create_draft ..oa  post nsoa  post@draft_id=post_id ..oa  edit_post ..oa  remove_post ..oa
        remove_post@draft_id=post_id ..oa  publish ..oa  publish@draft_id=post_id ..oa  unpublish ..oa  thread nsoa
        thread@draft_id=post_id ..oa  comment_with_replies nsoa  add_comment .soa  reply .soa  comment nsoa
        comment@hidden_id=comment_id ..oa  edit_comment ..o.  delete_comment ..oa  likes_of_post nsoa
        likes_of_post@draft_id=post_id ..oa  has_liked nsoa  has_liked@draft_id=post_id ..oa  like ..o.  unlike ..o.
        bookmarks_of_post ..oa  bookmarks_of_user ..o.  has_bookmarked ..o.  bookmark ..o.  unbookmark ..o.
        root_categories nsoa  category nsoa  subcategories nsoa  posts_by_category nsoa  change_category ...a
        posts_of_category_tree nsoa  add_category ...a  move_category ...a  reorder_categories ...a
        remove_category ...a  notifications ..o.  notification ..o.  notify ...a  change_notification ..o.
        mark_read ..o.  delete_notification ..o.  unread_notifications ..o.  unread_count ..o.  mark_all_read ..o.
        users_by_id nsoa  posts_by_id nsoa
        get_notification_events ..o.  create_notification_events_ticket ..o.
    """,
    "nbhd": """
        me .soa  register .soa  users nsoa  users_between nsoa  user nsoa  change_user ..o.  user_by_handle nsoa
        change_handle ..o.  delete_account ..oa  restore_account ..oa  memberships_of_user ..oa  neighborhoods_of ..oa
        create_neighborhood .soa  neighborhoods nsoa  neighborhood nsoa  neighborhood@hidden_id=neighborhood_id ..oa
        neighborhood_by_slug nsoa  neighborhood_by_slug@hidden_slug=slug ..oa  change_neighborhood ..oa
        close_neighborhood ..oa  members nsoa  members@hidden_id=neighborhood_id ..oa  past_members ..oa  member nsoa
        member@hidden_id=neighborhood_id ..oa  join ..o.  join@stranger=did .s..
        invitations_of_user ..o.  purge_account ...a  invite ..oa  invitation ..oa  delete_invitation ..oa
        publish_site ..oa  unpublish_site ..oa  renew_lease ...a  leave ..oa  set_role ..oa
        create_site ..o.  sites_of_user ..oa  deleted_sites_of_user ..oa  site ..oa  site_by_subdomain nsoa
        change_site ..o.  delete_site ..oa  restore_site@deleted_id=site_id ..oa  builds ..oa  start_build ..o.
        build ..oa  delete_build ..oa  finish_build ...a  users_by_id nsoa  neighborhoods_by_id nsoa
        get_build_job_events ..oa  create_build_job_events_ticket ..oa
        templates nsoa  site_source ..oa  put_site_source ..o.  export_site ..o.  exports_of_site ..oa
    """,
    "eecar": """
        parts_by_id nsoa  categories nsoa
        me .soa  offer_part .soa  offer_parts .soa  part nsoa  change_part ..o.  whole_part nsoa  withdraw_part ..oa
        set_category ..oa  transfer_part ..o.  parts_in_category nsoa  parts_of_seller nsoa  spec nsoa  vector nsoa
        usages nsoa  usage nsoa  set_spec ..o.  delete_spec ..o.  set_vector ...a  delete_vector ...a  add_usage ..o.
        change_usage ..o.  delete_usage ..o.  active_needs_of_company .soa  needs .soa  need .soa  change_need ..o.
        delete_need ..o.  post_need ..o.  set_required_specs ..o.  set_need_expiry ..o.  fulfil_need ..o.
        cancel_need ..o.  most_hit_matches .soa  delete_match ...a  match .soa  cache_match ...a  catalogue ...a
        advance_catalogue ...a  set_watch_contact ..o.  trigger_watch ...a  add_watch .soa  watch ..oa  triggers ..oa
        watches_of_buyer ..o.  delete_watch ..oa  set_watch_criteria ..o.  cancel_watch ..o.  create_proposal .soa
        proposal ..oa  proposal@received_id=proposal_id ..oa  delete_proposal ..oa
        delete_proposal@received_id=proposal_id ...a  received_proposals ..o.  sent_proposals ..o.
        answer_proposal ....  answer_proposal@received_id=proposal_id ..o.  revise_proposal ..o.
        revise_proposal@received_id=proposal_id ....  notifications ..o.  notification ..o.  delete_notification ..o.
        notify ...a  mark_read ..o.  unread_notifications ..o.  mark_all_read ..o.
        match_query .soa  match_need ..o.  similar_queries .soa  party_settings ..o.  choose_settings ..o.
        get_notification_events ..o.  create_notification_events_ticket ..o.
    """,
}
ADMIN = ("admin", "ADMIN")
_numbers = count(1)


def _lines(name: str) -> list[tuple[str, str]]:
    words = ACCESS[name].split()
    return list(zip(words[::2], words[1::2], strict=True))


def _path(route: Route, things: dict[str, str], parameters: list[dict[str, Any]]) -> str:
    path = route.path
    for each in route.in_path:
        shown = next(one["example"] for one in parameters if one["name"] == each.sent_name)
        path = path.replace(f"{{{each.name}}}", str(things.get(each.name, shown)))
    asked = [f"{one['name']}={one['example']}" for one in parameters if one["in"] == "query" and "example" in one]
    return path + ("?" + "&".join(asked) if asked else "")


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_operation_is_in_the_table(name: str) -> None:
    listed = {line.partition("@")[0] for line, _ in _lines(name)}
    assert listed == {route.name for route in SYSTEMS[name].api.routes}


@pytest.mark.parametrize("name", SYSTEMS)
def test_rule_allows_exactly_the_listed_callers(five: Client, name: str) -> None:
    bound = five.app._started().apis[name]
    routes = {route.name: route for route in bound.api.routes}
    operations = {
        operation["operationId"]: operation
        for methods in openapi(bound.api)["paths"].values()
        for operation in methods.values()
    }
    described = {route.name: operations[operation_id(route)] for route in bound.api.routes}
    wrong = []
    for line, allowed in _lines(name):
        operation, *others = line.split("@")
        route = routes[operation]
        body = described[operation].get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        for letter, caller in zip("nsoa", allowed, strict=True):
            owner, stranger = f"did:plc:o{next(_numbers)}", f"did:plc:s{next(_numbers)}"
            things = {"stranger": stranger, **SYSTEM_FIXTURES[name](bound.service, owner)}
            for other in others:
                made, _, parameter = other.partition("=")
                things[parameter] = things[made]
            who = {
                "n": five,
                "s": five.by(stranger),
                "o": five.by(owner, "AUTHOR"),
                "a": five.by(f"did:plc:a{next(_numbers)}", *ADMIN),
            }[letter].at(f"/api/{name}")
            parameters = described[operation].get("parameters", [])
            reply = who.request(route.method, _path(route, things, parameters), body)
            rejected = reply.status in (401, 403) and b"problem:not-registered" not in reply.body
            hidden = reply.status == 404 and caller == "."  # the entity exists
            if (
                (rejected or hidden) != (caller == ".")
                or reply.status >= 500
                or (rejected and (reply.status == 401) != (letter == "n"))
            ):
                wrong.append(f"{line} {letter}: {reply.status} {reply.body[:200].decode()}")
    assert wrong == []
