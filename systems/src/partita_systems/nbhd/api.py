"""The HTTP API of nbhd.city: users, neighborhoods, memberships, sites and builds."""

from typing import Any

from msgspec import UNSET, Struct, structs

from partita import NotFound, NotUnique, Page
from partita.rest import Api, Caller, IfMatch, PageSize, Problem, Related, caller_is, group, signed_in
from partita_systems.nbhd import bodies as b
from partita_systems.nbhd import design as d
from partita_systems.nbhd import ports
from partita_systems.nbhd.access import (
    SiteAccess,
    account,
    active_account,
    active_owner,
    admin,
    history_access,
    invited,
    is_public,
    leaving_member,
    listed,
    neighborhood_access,
    neighborhood_access_by_slug,
    neighborhood_admins,
    neighborhood_of_slug,
    neighbors,
    public,
    published,
    site_access,
)
from partita_systems.nbhd.building.templates import TEMPLATES, checked_template
from partita_systems.nbhd.exports import DOWNLOADS
from partita_systems.nbhd.pages import download, page
from partita_systems.nbhd.purging import PurgeResult
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.site_source import SiteSource
from partita_systems.nbhd.validation import checked_config, checked_slug, checked_subdomain, public_url

POPULAR = "public, max-age=10"  # lists that everyone reads: a shared cache may answer for ten seconds

SHOWN_USER = ("did", "bluesky_handle", "display_name", "avatar_url", "profile_images")
SHOWN_NEIGHBORHOOD = ("neighborhood_id", "slug", "name", "member_count", "privacy")
PROFILE = Related("user", d.user, SHOWN_USER, who=active_account, did="did")
INVITING = Related("inviter", d.user, SHOWN_USER, who=active_account, did="invited_by")
AT = Related("neighborhood", d.neighborhood, SHOWN_NEIGHBORHOOD, neighborhood_id="neighborhood_id")

api = Api("nbhd", "nbhd.city", d.design, service=Nbhd, about="Neighborhoods and their members' sites.")


# Users


api.expose_me(d.user, register="POST /users")


@api.post("/users", who=signed_in, location="/users/{did}")
def register(service: Nbhd, caller: Caller, new: b.NewUser) -> d.User:
    """Register the caller as a user; the `sub` of the token is the DID."""
    return service.register(
        caller.name,
        new.bluesky_handle,
        new.display_name,
        bluesky_did=new.bluesky_did,
        avatar_url=new.avatar_url,
        bio=new.bio,
    )


api.expose_list("/users", d.users, cache=POPULAR)
api.expose_list("/users/joined", d.users_between, cache=POPULAR)
api.expose_get_many("/users/by-id", d.user, who=active_account | caller_is("did") | admin, name="users_by_id")
api.expose_get("/users/{did}", d.user, who=active_account | caller_is("did") | admin)
api.expose_patch("/users/{did}", d.user, "display_name", "bio", "avatar_url", "profile_images", who=active_owner)


@api.get("/handles/{handle}")
def user_by_handle(service: Nbhd, handle: str) -> d.User:
    """Get a user by handle."""
    found = service.find_by_handle(handle)
    if found is None:
        raise NotFound(d.User.__name__, {"handle": handle})
    return found


@api.put("/users/{did}/handle", who=active_owner, on=d.user)
def change_handle(service: Nbhd, did: str, new: b.NewHandle) -> d.User:
    """Change the handle; it must be free."""
    return service.change_handle(did, new.bluesky_handle)


@api.delete("/users/{did}", who=caller_is("did") | admin)
def delete_account(service: Nbhd, did: str, match: IfMatch) -> None:
    """Delete an account: it leaves every list at once, can be restored within 30 days, and is then purged.

    The only admin of a neighborhood has to make another member admin first, or close the neighborhood.
    """
    service.delete_account(did, match.check)


@api.post("/users/{did}/restoration", who=caller_is("did") | admin)
def restore_account(service: Nbhd, did: str) -> d.User:
    """Restore a deleted account within 30 days."""
    return service.restore_account(did)


@api.post("/users/{did}/purge", who=group("machine") | admin)
def purge_account(service: Nbhd, did: str) -> PurgeResult:
    """Purge an account whose grace period is over, with its sites, builds and memberships; repeating it is safe.

    The server does so by itself; this is for operators.
    """
    return service.purge(did)


api.expose_list("/users/{did}/memberships", d.memberships_of_user, who=caller_is("did") | admin, include=[AT])
api.expose_list("/users/{did}/invitations", d.invitations_of_user, who=caller_is("did"), include=[AT, INVITING])


@api.get("/users/{did}/neighborhoods", who=caller_is("did") | admin)
def neighborhoods_of(service: Nbhd, did: str, limit: PageSize = 20, cursor: str | None = None) -> Page[d.Neighborhood]:
    """List the neighborhoods of a user, last joined first."""
    return service.neighborhoods_of(did, limit, cursor)


# Neighborhoods


@api.post("/neighborhoods", who=signed_in, location="/neighborhoods/{neighborhood_id}")
def create_neighborhood(service: Nbhd, caller: Caller, new: b.NewNeighborhood) -> d.Neighborhood:
    """Create a neighborhood with the caller as the first member and admin."""
    return service.create_neighborhood(
        caller.name,
        new.name,
        new.slug,
        description=new.description,
        privacy=new.privacy,
        settings=new.settings,
    )


api.expose_list("/neighborhoods", d.neighborhoods, cache=POPULAR)
api.expose_get_many("/neighborhoods/by-id", d.neighborhood, who=listed | admin, name="neighborhoods_by_id")


@api.get("/neighborhoods/{neighborhood_id}", who=neighbors | invited, on=neighborhood_access)
def neighborhood(service: Nbhd, neighborhood_id: str) -> d.Neighborhood:
    """Get a neighborhood."""
    return service.db.one(d.neighborhood(neighborhood_id))


@api.get("/slugs/{slug}", who=neighbors | invited, on=neighborhood_access_by_slug)
def neighborhood_by_slug(service: Nbhd, slug: str) -> d.Neighborhood:
    """Get a neighborhood by slug."""
    return neighborhood_of_slug(service, slug)


@api.patch("/neighborhoods/{neighborhood_id}", who=neighborhood_admins | admin, on=neighborhood_access)
def change_neighborhood(
    service: Nbhd, neighborhood_id: str, change: b.ChangedNeighborhood, match: IfMatch
) -> d.Neighborhood:
    """Change the given fields; an old slug is released, and a private neighborhood is not listed."""

    def edit(found: d.Neighborhood) -> None:
        match.check(found)
        if change.name is not UNSET:
            found.name = change.name
        if change.slug is not UNSET:
            found.slug = checked_slug(change.slug, found.name)
        if change.description is not UNSET:
            found.description = change.description
        if change.privacy is not UNSET:
            found.privacy = change.privacy
        if change.settings is not UNSET:
            found.settings = structs.replace(found.settings, **_fields_of(change.settings))

    return service.db.update(d.neighborhood(neighborhood_id), edit)


def _fields_of(change: Struct) -> dict[str, Any]:
    return {name: value for name, value in structs.asdict(change).items() if value is not UNSET}


@api.delete("/neighborhoods/{neighborhood_id}", who=neighborhood_admins | admin, on=neighborhood_access)
def close_neighborhood(service: Nbhd, caller: Caller, neighborhood_id: str, match: IfMatch) -> None:
    """Close a neighborhood: its memberships become history; an interrupted call can be repeated."""
    service.close(neighborhood_id, caller.name, match.check)


# Members

api.expose_list(
    "/neighborhoods/{neighborhood_id}/members", d.members, who=neighbors, on=neighborhood_access, include=[PROFILE]
)
api.expose_list(
    "/neighborhoods/{neighborhood_id}/past-members",
    d.past_members,
    who=neighborhood_admins | admin,
    on=history_access,
    include=[PROFILE],
)


@api.get("/neighborhoods/{neighborhood_id}/members/{did}", who=neighbors, on=neighborhood_access)
def member(service: Nbhd, neighborhood_id: str, did: str) -> d.Membership:
    """Get a membership."""
    return service.db.one(d.member(neighborhood_id, did))


@api.put(
    "/neighborhoods/{neighborhood_id}/members/{did}",
    who=caller_is("did") & (public | invited),
    on=neighborhood_access,
)
def join(service: Nbhd, neighborhood_id: str, did: str) -> d.Membership:
    """Join a public neighborhood, or any neighborhood with an invitation."""
    return service.join(neighborhood_id, did)


@api.delete(
    "/neighborhoods/{neighborhood_id}/members/{did}",
    who=leaving_member | neighborhood_admins | admin,
    on=neighborhood_access,
)
def leave(service: Nbhd, neighborhood_id: str, did: str) -> None:
    """End a membership, which becomes history; the only admin cannot leave."""
    service.leave(neighborhood_id, did)


@api.put("/neighborhoods/{neighborhood_id}/members/{did}/role", who=neighborhood_admins | admin, on=neighborhood_access)
def set_role(service: Nbhd, neighborhood_id: str, did: str, new: b.NewRole) -> d.Membership:
    """Set the role of a member; the only admin stays one."""
    return service.set_role(neighborhood_id, did, new.role)


@api.put("/neighborhoods/{neighborhood_id}/invitations/{did}", who=neighborhood_admins | admin, on=neighborhood_access)
def invite(service: Nbhd, caller: Caller, neighborhood_id: str, did: str) -> d.Invitation:
    """Invite a user, who accepts by joining; the invitation expires after 30 days."""
    return service.invite(neighborhood_id, did, caller.name)


@api.get(
    "/neighborhoods/{neighborhood_id}/invitations/{did}",
    who=(caller_is("did") & invited) | neighborhood_admins | admin,
    on=neighborhood_access,
)
def invitation(service: Nbhd, neighborhood_id: str, did: str) -> d.Invitation:
    """Get an invitation."""
    return service.db.one(d.invitation(did, neighborhood_id))


@api.delete(
    "/neighborhoods/{neighborhood_id}/invitations/{did}",
    who=(caller_is("did") & invited) | neighborhood_admins | admin,
    on=neighborhood_access,
)
def delete_invitation(service: Nbhd, neighborhood_id: str, did: str) -> None:
    """Decline or withdraw an invitation."""
    if service.db.delete(d.invitation(did, neighborhood_id)) is None:
        raise NotFound(d.Invitation.__name__, {"did": did})


# Sites


@api.post("/users/{did}/sites", who=active_owner, on=d.user, location="/users/{did}/sites/{site_id}")
def create_site(service: Nbhd, caller: Caller, did: str, new: b.NewSite) -> d.Site:
    """Create a site; the settings of its neighborhood may require the claim `email_verified`."""
    return service.create_site(
        did,
        new.title,
        new.template,
        new.subdomain,
        new.config,
        neighborhood_id=new.neighborhood_id,
        email_verified=caller.claims.get("email_verified") in (True, "true"),
    )


api.expose_list("/users/{did}/sites", d.sites_of_user, who=caller_is("did") | admin)
api.expose_list("/users/{did}/deleted-sites", d.deleted_sites_of_user, who=caller_is("did") | admin)


@api.get("/users/{did}/sites/{site_id}", who=published | caller_is("did") | admin, on=site_access)
def site(service: Nbhd, did: str, site_id: str) -> d.Site:
    """Get a site."""
    return service.db.one(d.site(did, site_id))


@api.get("/subdomains/{subdomain}")
def site_by_subdomain(service: Nbhd, subdomain: str) -> d.Site:
    """Get a published site by subdomain."""
    site = service.find_by_subdomain(subdomain)
    if site is None or not is_public(SiteAccess(site, service.db(d.user(site.did)))):
        raise NotFound(d.Site.__name__, {"subdomain": subdomain})
    return site


@api.patch("/users/{did}/sites/{site_id}", who=active_owner, on=d.user)
def change_site(service: Nbhd, did: str, site_id: str, change: b.ChangedSite, match: IfMatch) -> d.Site:
    """Change the given fields; an old subdomain is released."""

    def edit(found: d.Site) -> None:
        match.check(found)
        if change.title is not UNSET:
            found.title = change.title
        if change.template is not UNSET:
            found.template = checked_template(change.template)
        if change.config is not UNSET:
            found.config = checked_config(change.config)
        if change.subdomain is not UNSET:
            found.subdomain = checked_subdomain(change.subdomain)
            found.public_url = public_url(found.subdomain)

    service.db.update(d.site(did, site_id), edit)
    return service.db.one(d.site(did, site_id), consistent=True)


@api.delete("/users/{did}/sites/{site_id}", who=active_owner | admin, on=account)
def delete_site(service: Nbhd, did: str, site_id: str, match: IfMatch) -> None:
    """Delete a site; it can be restored within 7 days."""
    service.delete_site(did, site_id, match.check)


@api.post("/users/{did}/deleted-sites/{site_id}/restoration", who=active_owner | admin, on=account)
def restore_site(service: Nbhd, did: str, site_id: str) -> d.Site:
    """Restore a deleted site."""
    return service.restore_site(did, site_id)


@api.put("/users/{did}/sites/{site_id}/publication", who=active_owner | admin, on=account)
def publish_site(service: Nbhd, did: str, site_id: str) -> d.Site:
    """Publish the last good build of a site again."""
    return service.publish(did, site_id)


@api.delete("/users/{did}/sites/{site_id}/publication", who=active_owner | admin, on=account)
def unpublish_site(service: Nbhd, did: str, site_id: str) -> d.Site:
    """Hide a site from everyone but its owner; builds do not publish it again."""
    return service.unpublish(did, site_id)


@api.get("/users/{did}/sites/{site_id}/source", who=caller_is("did") | admin)
def site_source(service: Nbhd, did: str, site_id: str) -> SiteSource:
    """Get what the owner decides about a site, as JSON for version control; a PUT puts it back."""
    return service.source(did, site_id)


@api.put("/users/{did}/sites/{site_id}/source", who=active_owner, on=d.user)
def put_site_source(service: Nbhd, did: str, site_id: str, source: SiteSource) -> d.Site:
    """Put the title, template, subdomain and config of a site back; the next build shows them."""
    return service.put_source(did, site_id, source)


@api.post("/users/{did}/sites/{site_id}/exports", who=active_owner, on=d.user, status=201)
def export_site(service: Nbhd, did: str, site_id: str) -> d.SiteExport:
    """Create an archive of a site, with its source and built files; `archive_url` can be fetched for 7 days."""
    return service.export_site(did, site_id)


api.expose_list("/users/{did}/sites/{site_id}/exports", d.exports_of_site, who=caller_is("did") | admin)


@api.get("/templates", cache=POPULAR)
def templates(service: Nbhd) -> b.Templates:
    """List the templates that a site can have."""
    return b.Templates([b.KnownTemplate(each.name, each.about) for each in TEMPLATES.values()])


api.files("/sites", domains=[ports.domain()])(page)
api.files(DOWNLOADS)(download)


# Builds


@api.get("/users/{did}/sites/{site_id}/builds", who=caller_is("did") | admin)
def builds(service: Nbhd, did: str, site_id: str, limit: PageSize = 10, cursor: str | None = None) -> Page[d.BuildJob]:
    """List the builds of a site, newest first."""
    service.db.one(d.site(did, site_id))
    return service.db(d.builds_of_site(site_id)).page(limit, cursor)


api.expose_events(
    "/users/{did}/sites/{site_id}/builds/events", d.BuildJob, "site_id", who=caller_is("did") | admin, on=d.site
)


@api.post("/users/{did}/sites/{site_id}/builds", who=active_owner, on=d.user, status=201)
def start_build(service: Nbhd, did: str, site_id: str) -> d.BuildJob:
    """Start a build, unless one is running."""
    try:
        return service.start_build(did, site_id)
    except NotUnique:
        raise Problem(409, "conflict", f"a build of {site_id} is running") from None


@api.get("/users/{did}/sites/{site_id}/builds/{job_id}", who=caller_is("did") | admin)
def build(service: Nbhd, did: str, site_id: str, job_id: str) -> d.BuildJob:
    """Get a build."""
    service.db.one(d.site(did, site_id))
    found = service.find_build(site_id, job_id)
    if found is None:
        raise NotFound(d.BuildJob.__name__, {"job_id": job_id})
    return found


@api.delete("/users/{did}/sites/{site_id}/builds/{job_id}", who=active_owner | admin, on=account)
def delete_build(service: Nbhd, did: str, site_id: str, job_id: str, match: IfMatch) -> None:
    """Delete a build; the end of a running build can then no longer be recorded, and another can start."""
    job = build(service, did, site_id, job_id)
    if not service.delete_build(job, match.when(job)):
        build(service, did, site_id, job_id)
        raise Problem(
            409,
            "conflict",
            f"{job_id} is stored under a key without a time and can only be deleted by the code that stored it",
        )


@api.put("/users/{did}/sites/{site_id}/builds/{job_id}/end", who=group("builder") | admin)
def finish_build(service: Nbhd, did: str, site_id: str, job_id: str, end: b.BuildEnd) -> d.BuildJob:
    """Record the end of a build; a successful build publishes the site, unless it is unpublished."""
    return service.finish_build(did, _running(service, site_id, job_id), error=end.error, log_url=end.log_url)


@api.put("/users/{did}/sites/{site_id}/builds/{job_id}/lease", who=group("builder") | admin)
def renew_lease(service: Nbhd, did: str, site_id: str, job_id: str) -> d.BuildJob:
    """Extend the lease of a running build by 15 minutes; after it, another build may start and this one fails."""
    return service.renew_lease(_running(service, site_id, job_id))


def _running(service: Nbhd, site_id: str, job_id: str) -> d.BuildJob:
    job = service.find_build(site_id, job_id)
    if job is None or job.status != d.BuildStatus.RUNNING:
        raise Problem(409, "conflict", f"{job_id} is not the running build of {site_id}")
    return job


api.examples(anonymous="/neighborhoods", signed_in="/neighborhoods?limit=3")
