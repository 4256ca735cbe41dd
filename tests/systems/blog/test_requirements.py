"""Each problem of the document that the page lists, and the behaviour that solves it."""

import msgspec
import pytest

from partita import InvalidValue, LimitReached, NotFound, Store
from partita.dynamodb.requests import DescribeTable, PutItem
from partita_systems.blog import design as d
from partita_systems.blog.categories import MAX_ROOTS
from partita_systems.blog.service import Blog
from partita_systems.errors import NotPublished
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.blog.conftest import ANA, BIA, CAIO, disk, published

# names on disk ----------------------------------------------------------------------------------------------------


def stored(db: Store, entity_type: str) -> dict[str, str]:
    """The keys of the one item of a type."""
    (item,) = [each for each in disk(db) if each["entityType"] == {"S": entity_type}]
    return {name: value["S"] for name, value in item.items() if name.endswith(("PK", "SK"))}


def test_items_on_disk_have_the_document_s_names_and_keys(blog: Blog, db: Store, clock: Clock) -> None:
    at = clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    blog.register(ANA, "Ana", groups=["AUTHOR"])
    root = blog.categories.add("Música").category_id
    sub = blog.categories.add("Samba", root).category_id
    post = published(blog, sub).post_id
    comment = blog.comments.add(post, BIA, "Que lindo!").comment_id
    reply = blog.comments.reply(comment, ANA, "Obrigada!").reply_id
    blog.like(BIA, post)
    blog.bookmark(BIA, post)
    notification = blog.notify(ANA, d.NotificationType.LIKE, BIA, post).notification_id

    def keys(pk: str, sk: str, *indexes: str) -> dict[str, str]:
        return dict(zip(("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"), (pk, sk, *indexes), strict=False))

    assert stored(db, "USER") == keys(
        f"USER#{ANA}", f"PROFILE#{ANA}", f"USER#{ANA}", "PROFILE", "ROLE#AUTHOR", f"USER#{ANA}"
    )
    assert stored(db, "POST") == keys(
        *(f"POST#{post}", f"POST#{post}", f"CATEGORY#{sub}", f"POST#{at}#{post}"),
        *(f"AUTHOR#{ANA}", f"POST#{at}#{post}"),
    )
    assert stored(db, "CATEGORY_CHILD") == keys(f"CATEGORY#{root}", f"CHILD#{sub}#0000")
    assert stored(db, "COMMENT") == keys(
        *(f"POST#{post}", f"COMMENT#{comment}#{at}", f"COMMENT#{comment}", f"POST#{post}"),
        *(f"AUTHOR#{BIA}", f"COMMENT#{at}#{comment}"),
    )
    assert stored(db, "REPLY") == keys(
        *(f"POST#{post}", f"COMMENT#{comment}#{reply}#{at}", f"COMMENT#{reply}", f"POST#{post}"),
        *(f"AUTHOR#{ANA}", f"COMMENT#{at}#{reply}"),
    )
    assert stored(db, "LIKE") == keys(
        f"POST#{post}", f"LIKE#{BIA}#{at}", f"LIKE#{BIA}#{post}", "LIKE", f"AUTHOR#{BIA}", f"LIKE#{at}"
    )
    assert stored(db, "BOOKMARK") == keys(
        *(f"USER#{BIA}", f"BOOKMARK#{post}#{at}", f"BOOKMARK#{BIA}", f"BOOKMARK#{at}#{post}"),
        *(f"POST#{post}", f"BOOKMARK#{BIA}"),
    )
    assert stored(db, "NOTIFICATION") == keys(
        *(f"USER#{ANA}", f"NOTIFICATION#{notification}#{at}"),
        *(f"NOTIFICATION#{ANA}", f"NOTIFICATION#{at}#{notification}"),
        *(f"UNREAD#{ANA}", f"NOTIFICATION#{at}#{notification}"),
    )
    places = {item["name"]["S"]: item for item in disk(db) if item["entityType"] == {"S": "CATEGORY"}}
    assert [places[name]["GSI1PK"]["S"] for name in ("Música", "Samba")] == ["CATEGORY_ROOT", f"CATEGORY#{root}"]
    assert places["Samba"]["GSI1SK"] == {"S": f"CATEGORY#0000#{sub}"}


def test_every_item_has_its_type_and_its_times(blog: Blog, db: Store, post: d.Post) -> None:
    blog.comments.add(post.post_id, BIA, "Oi")
    for item in disk(db):
        assert item.keys() >= {"entityType", "createdAt", "updatedAt"}


def test_the_table_is_named_after_stack_and_environment() -> None:
    assert d.blog.name == "partita-dev-blog"


# "3 GSIs", two are defined ----------------------------------------------------------------------------------------


def test_capacity_is_on_demand(db: Store) -> None:
    described = msgspec.to_builtins(db.backend.call(DescribeTable(table_name=d.blog.name)))
    assert described["Table"]["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_two_indexes_serve_every_pattern() -> None:
    assert [index.name for index in d.blog.indexes] == ["GSI1", "GSI2"]
    assert {pattern.read.sources[0].keys.index for pattern in d.design.patterns.values()} == {None, "GSI1", "GSI2"}


def test_notifications_are_read_from_the_first_index_newest_first(blog: Blog, db: Store, clock: Clock) -> None:
    created = []
    for kind in (d.NotificationType.LIKE, d.NotificationType.COMMENT, d.NotificationType.REPLY):
        created.append(blog.notify(ANA, kind, BIA, "p_1").notification_id)
        clock.passes(minutes=1)
    found = db(d.notifications(ANA)).first(10)
    assert [each.notification_id for each in found] == created[::-1]
    blog.mark_read(ANA, found[0].notification_id)
    assert [each.read for each in db(d.notifications(ANA))] == [True, False, False]


# posts by category and by author: the partitions hold other things too --------------------------------------------


def test_posts_of_a_category_are_posts_only_though_subcategories_share_its_partition(blog: Blog, db: Store) -> None:
    root = blog.categories.add("Música").category_id
    blog.categories.add("Samba", root)
    post = published(blog, root)
    assert [each.post_id for each in db(d.posts_by_category(root))] == [post.post_id]
    assert [each.name for each in db(d.subcategories(root))] == ["Samba"]


def test_posts_of_an_author_are_posts_only_though_likes_and_comments_share_the_partition(
    blog: Blog, db: Store, post: d.Post
) -> None:
    blog.like(ANA, post.post_id)
    comment = blog.comments.add(post.post_id, ANA, "Contem o que acharam.")
    assert [each.post_id for each in db(d.posts_of_author(ANA))] == [post.post_id]
    assert list(db(d.comments_of_user(ANA))) == [comment]
    assert [each.post_id for each in db(d.likes_of_user(ANA))] == [post.post_id]


def test_posts_of_a_category_are_newest_first_ten_per_page(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    assert post.subcategory_id is not None
    created = [post.post_id]
    for number in range(14):
        clock.passes(hours=1)
        created.append(published(blog, post.subcategory_id, f"Samba nº {number}").post_id)
    first = db(d.posts_by_category(post.subcategory_id)).page()
    second = db(d.posts_by_category(post.subcategory_id)).page(cursor=first.cursor)
    assert [each.post_id for each in first.items + second.items] == created[::-1]
    assert (len(first.items), len(second.items), second.cursor) == (10, 5, None)


# comments and replies: id order, and a reply that sorts before its root -------------------------------------------


def test_a_thread_is_one_query_each_root_before_its_replies_in_the_order_of_time(
    blog: Blog, db: Store, clock: Clock, post: d.Post
) -> None:
    expected = []
    roots = []
    for text in ("primeira", "segunda", "terceira"):
        roots.append(blog.comments.add(post.post_id, BIA, text).comment_id)
        clock.passes(seconds=1)
    for number in range(3):
        for text, root in zip(("primeira", "segunda", "terceira"), roots, strict=True):
            blog.comments.reply(root, CAIO, f"{text} {number}")
            clock.passes(seconds=1)
    for text in ("primeira", "segunda", "terceira"):
        expected += [text, *(f"{text} {number}" for number in range(3))]
    with db.measure() as used:
        assert [each.content for each in db(d.thread(post.post_id))] == expected
    assert used.requests == 1


def test_a_thread_is_read_page_by_page(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    root = blog.comments.add(post.post_id, BIA, "raiz").comment_id
    for number in range(8):
        clock.passes(seconds=1)
        blog.comments.reply(root, CAIO, str(number))
    first = db(d.thread(post.post_id)).page(4)
    second = db(d.thread(post.post_id)).page(4, first.cursor)
    rest = db(d.thread(post.post_id)).page(4, second.cursor)
    assert [each.content for page in (first, second, rest) for each in page.items] == ["raiz", *map(str, range(8))]


def test_every_id_begins_with_a_letter(blog: Blog, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, BIA, "Oi")
    reply = blog.comments.reply(comment.comment_id, ANA, "Olá")
    assert [each[0] for each in (post.post_id, comment.comment_id, reply.reply_id)] == ["p", "c", "r"]


# roots, then a query for each -------------------------------------------------------------------------------------


def test_one_comment_is_read_with_its_replies_and_no_others(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    first = blog.comments.add(post.post_id, BIA, "primeira").comment_id
    second = blog.comments.add(post.post_id, BIA, "segunda").comment_id
    for root in (first, second, first):
        clock.passes(seconds=1)
        blog.comments.reply(root, CAIO, "resposta")
    found = list(db(d.comment_with_replies(post.post_id, first)))
    assert [type(each) for each in found] == [d.Comment, d.Reply, d.Reply]
    assert {each.parent_id for each in found if isinstance(each, d.Reply)} == {first}


def test_a_reply_to_a_reply_keeps_the_root_and_names_the_reply_it_answers(blog: Blog, post: d.Post) -> None:
    root = blog.comments.add(post.post_id, BIA, "raiz")
    first = blog.comments.reply(root.comment_id, CAIO, "resposta")
    second = blog.comments.reply(first.reply_id, BIA, "tréplica")
    assert (first.parent_id, first.answers) == (root.comment_id, root.comment_id)
    assert (second.parent_id, second.answers) == (root.comment_id, first.reply_id)


def test_a_deleted_root_leaves_a_tombstone_and_its_replies(blog: Blog, db: Store, post: d.Post) -> None:
    root = blog.comments.add(post.post_id, BIA, "raiz")
    reply = blog.comments.reply(root.comment_id, CAIO, "resposta")
    blog.comments.delete(root.comment_id)
    tombstone, left = db(d.thread(post.post_id))
    assert isinstance(tombstone, d.Comment)
    assert (tombstone.comment_id, tombstone.content, tombstone.reply_count) == (root.comment_id, None, 1)
    assert tombstone.deleted_at is not None
    assert left == reply
    assert list(db(d.comments_of_user(BIA))) == []
    assert db.one(d.post(post.post_id)).comment_count == 1


def test_a_tombstone_accepts_no_reply_or_edit_but_its_replies_do(blog: Blog, post: d.Post) -> None:
    root = blog.comments.add(post.post_id, BIA, "raiz").comment_id
    reply = blog.comments.reply(root, CAIO, "resposta").reply_id
    blog.comments.delete(root)
    for rejected in (
        lambda: blog.comments.reply(root, ANA, "tarde demais"),
        lambda: blog.comments.edit(root, "outra vez"),
        lambda: blog.comments.delete(root),
    ):
        with pytest.raises(NotFound, match=f"Comment {root} does not exist"):
            rejected()
    assert blog.comments.reply(reply, ANA, "ainda a tempo").parent_id == root


def test_a_deleted_comment_without_replies_leaves_nothing(blog: Blog, db: Store, post: d.Post) -> None:
    root = blog.comments.add(post.post_id, BIA, "raiz").comment_id
    reply = blog.comments.reply(root, CAIO, "resposta").reply_id
    blog.comments.delete(reply)
    blog.comments.delete(root)
    assert list(db(d.thread(post.post_id))) == []
    assert db.one(d.post(post.post_id)).comment_count == 0


# liking twice makes two items -------------------------------------------------------------------------------------


def test_a_user_likes_a_post_once(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    assert blog.like(BIA, post.post_id)
    clock.passes(minutes=5)
    assert not blog.like(BIA, post.post_id)
    assert [each.user_id for each in db(d.likes_of_post(post.post_id))] == [BIA]
    assert db.one(d.post(post.post_id)).like_count == 1


def test_has_liked_is_one_get_and_returns_the_time(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    with db.measure() as used:
        liked = db(d.has_liked(BIA, post.post_id))
        assert db(d.has_liked(CAIO, post.post_id)) is None
    assert liked is not None
    assert liked.created_at == clock()
    assert used.requests == 2


def test_a_removed_like_leaves_nothing_and_can_be_repeated(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    before = len(disk(db))
    blog.like(BIA, post.post_id)
    clock.passes(days=3)
    assert blog.unlike(BIA, post.post_id)
    assert not blog.unlike(BIA, post.post_id)
    assert len(disk(db)) == before
    assert db.one(d.post(post.post_id)).like_count == 0
    assert blog.like(BIA, post.post_id)
    (like,) = db(d.likes_of_post(post.post_id))
    assert like.created_at == clock()


def test_a_user_bookmarks_a_post_once_and_lists_them_newest_first(
    blog: Blog, db: Store, clock: Clock, post: d.Post
) -> None:
    assert post.subcategory_id is not None
    other = published(blog, post.subcategory_id, "Choro")
    assert blog.bookmark(BIA, post.post_id)
    clock.passes(minutes=1)
    assert blog.bookmark(BIA, other.post_id)
    assert not blog.bookmark(BIA, post.post_id)
    assert [each.post_id for each in db(d.bookmarks_of_user(BIA))] == [other.post_id, post.post_id]
    assert [each.user_id for each in db(d.bookmarks_of_post(post.post_id))] == [BIA]
    assert db.one(d.post(post.post_id)).bookmark_count == 1
    assert blog.unbookmark(BIA, post.post_id)
    assert not blog.unbookmark(BIA, post.post_id)
    assert db.one(d.post(post.post_id)).bookmark_count == 0


def test_guards_are_in_no_index(blog: Blog, db: Store, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    blog.bookmark(BIA, post.post_id)
    guards = [item for item in disk(db) if item["entityType"]["S"].endswith("_GUARD")]
    assert len(guards) == 2
    assert all(item.keys().isdisjoint({"GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"}) for item in guards)


# like's AUTHOR#: liker or author? ---------------------------------------------------------------------------------


def test_a_like_belongs_to_the_user_who_likes(blog: Blog, db: Store, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    assert [each.post_id for each in db(d.likes_of_user(BIA))] == [post.post_id]
    assert list(db(d.likes_of_user(ANA))) == []


# replies have no index keys ---------------------------------------------------------------------------------------


def test_replies_are_found_by_id_and_by_author_like_comments(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, BIA, "raiz")
    clock.passes(seconds=1)
    reply = blog.comments.reply(comment.comment_id, BIA, "e digo mais")
    assert blog.comments.find(reply.reply_id) == reply
    newest, oldest = db(d.comments_of_user(BIA))
    assert newest == reply
    assert isinstance(oldest, d.Comment)


# drafts -----------------------------------------------------------------------------------------------------------


def test_a_draft_is_listed_for_its_author_only(blog: Blog, db: Store, post: d.Post) -> None:
    draft = blog.write(ANA, "Rascunho", "Ainda não.", subcategory_id=post.subcategory_id)
    assert post.subcategory_id is not None
    assert [each.post_id for each in db(d.posts_of_author(ANA))] == [post.post_id]
    assert [each.post_id for each in db(d.posts_by_category(post.subcategory_id))] == [post.post_id]
    assert list(db(d.drafts_of_author(ANA))) == [draft]
    (item,) = [each for each in disk(db) if each["PK"]["S"] == each["SK"]["S"] == f"POST#{draft.post_id}"]
    assert item["GSI2PK"] == {"S": f"DRAFT#{ANA}"}
    assert not item.keys() & {"GSI1PK", "GSI1SK", "publishedAt"}


def test_publishing_moves_a_draft_to_its_category_and_back(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    blog.unpublish(post.post_id)
    assert post.subcategory_id is not None
    assert list(db(d.posts_by_category(post.subcategory_id))) == list(db(d.posts_of_author(ANA))) == []
    assert db.one(d.category(post.subcategory_id)).post_count == 0
    clock.passes(days=1)
    blog.publish(post.post_id)
    (again,) = db(d.posts_by_category(post.subcategory_id))
    assert again.published_at == post.published_at
    assert db.one(d.category(post.subcategory_id)).post_count == 1


def test_drafts_are_listed_last_edited_first(blog: Blog, db: Store, clock: Clock) -> None:
    first = blog.write(ANA, "Um", "texto").post_id
    clock.passes(minutes=1)
    second = blog.write(ANA, "Dois", "texto").post_id
    clock.passes(minutes=1)
    blog.edit(first, content="outro texto")
    assert [each.post_id for each in db(d.drafts_of_author(ANA))] == [first, second]


def test_a_draft_cannot_be_commented_on_liked_or_bookmarked(blog: Blog, db: Store) -> None:
    draft = blog.write(ANA, "Rascunho", "Ainda não.").post_id
    before = disk(db)
    for rejected in (
        lambda: blog.like(ANA, draft),
        lambda: blog.bookmark(ANA, draft),
        lambda: blog.comments.add(draft, ANA, "Oi"),
    ):
        with pytest.raises(NotPublished, match=f"Post {draft} is not published; publish it first"):
            rejected()
    with pytest.raises(NotFound, match=f"Post {draft} does not exist"):
        blog.bookmark(BIA, draft)
    assert disk(db) == before


def test_own_draft_is_a_409_that_says_why_and_a_draft_of_others_a_404(blog: Blog, anonymous: Client) -> None:
    draft = blog.write(ANA, "Rascunho", "Ainda não.").post_id
    blog.register(ANA, "Ana")
    blog.register(BIA, "Bia")
    for caller, status, reason in (
        (anonymous.by(ANA, "AUTHOR"), 409, "is not published; publish it first"),
        (anonymous.by(BIA), 404, "does not exist"),
    ):
        user = ANA if status == 409 else BIA
        for reply in (
            caller.post(f"/posts/{draft}/comments", {"content": "Oi"}),
            caller.put(f"/posts/{draft}/likes/{user}"),
            caller.put(f"/users/{user}/bookmarks/{draft}"),
        ):
            assert (reply.status, reply.json["detail"]) == (status, f"Post {draft} {reason}")


def test_reply_on_a_withdrawn_post_says_why_to_its_author(blog: Blog, post: d.Post, anonymous: Client) -> None:
    comment = blog.comments.add(post.post_id, BIA, "Oi").comment_id
    blog.unpublish(post.post_id)
    own = anonymous.by(ANA, "AUTHOR").post(f"/comments/{comment}/replies", {"content": "Oi"})
    assert (own.status, own.json["detail"]) == (409, f"Post {post.post_id} is not published; publish it first")
    assert anonymous.by("sub-other").post(f"/comments/{comment}/replies", {"content": "Oi"}).status == 404


# categories: order in two places, unpadded, by id -----------------------------------------------------------------


def test_more_than_ten_subcategories_are_sorted(blog: Blog, db: Store) -> None:
    root = blog.categories.add("Música").category_id
    names = [f"Ritmo {number}" for number in range(12)]
    for name in names:
        blog.categories.add(name, root)
    assert [each.name for each in db(d.subcategories(root))] == names


def test_reordering_changes_both_places_in_one_transaction(blog: Blog, db: Store) -> None:
    root = blog.categories.add("Música").category_id
    samba, choro, forro = (blog.categories.add(name, root).category_id for name in ("Samba", "Choro", "Forró"))
    blog.categories.reorder(root, [forro, samba, choro])
    assert [each.name for each in db(d.subcategories(root))] == ["Forró", "Samba", "Choro"]
    places = {each.category_id: each.order for each in db(d.subcategories(root))}
    assert {each.child_id: each.order for each in db(d.children(root))} == places == {forro: 0, samba: 1, choro: 2}
    assert db.one(d.category(root)).child_count == 3


def test_a_link_of_the_old_form_without_leading_zeros_is_read(blog: Blog, db: Store) -> None:
    root = blog.categories.add("Música").category_id
    blog.categories.add("Samba", root)
    link = {"PK": {"S": f"CATEGORY#{root}"}, "SK": {"S": "CHILD#42#7"}}
    db.backend.call(PutItem(table_name=d.blog.name, item=link))
    assert {each.order for each in db(d.children(root))} == {0, 7}


def test_root_categories_can_be_reordered(blog: Blog, db: Store) -> None:
    created = [blog.categories.add(name).category_id for name in ("Música", "Cinema", "Livros")]
    blog.categories.reorder(None, created[::-1])
    assert [each.name for each in db(d.root_categories())] == ["Livros", "Cinema", "Música"]


def test_an_order_that_omits_a_category_is_rejected(blog: Blog) -> None:
    root = blog.categories.add("Música").category_id
    first, _ = (blog.categories.add(name, root).category_id for name in ("Samba", "Choro"))
    with pytest.raises(InvalidValue, match=r"Category\.category_ids"):
        blog.categories.reorder(root, [first])


def test_there_are_two_levels_of_categories(blog: Blog, db: Store) -> None:
    musica, cinema = (blog.categories.add(name).category_id for name in ("Música", "Cinema"))
    samba = blog.categories.add("Samba", musica).category_id
    with pytest.raises(InvalidValue, match=r"Category\.parent_id: the parent is a subcategory"):
        blog.categories.add("Samba de roda", samba)
    with pytest.raises(InvalidValue, match=r"Category\.parent_id: 'Música' has subcategories"):
        blog.categories.move(musica, cinema)
    with pytest.raises(InvalidValue, match=r"Category\.parent_id"):
        blog.categories.move(cinema, cinema)
    assert [each.name for each in db(d.root_categories())] == ["Música", "Cinema"]


def test_a_category_moves_with_its_link_and_its_parents_counts(blog: Blog, db: Store) -> None:
    musica, danca = (blog.categories.add(name).category_id for name in ("Música", "Dança"))
    samba = blog.categories.add("Samba", musica).category_id
    blog.categories.move(samba, danca)
    assert [db.one(d.category(each)).child_count for each in (musica, danca)] == [0, 1]
    assert [each.child_id for each in db(d.children(danca))] == [samba]
    assert list(db(d.children(musica))) == []
    blog.categories.move(samba, None)
    assert [each.name for each in db(d.root_categories())] == ["Música", "Dança", "Samba"]
    assert list(db(d.children(danca))) == []


def test_posts_of_a_root_are_a_merge_of_one_query_for_each_subcategory(blog: Blog, db: Store, clock: Clock) -> None:
    root = blog.categories.add("Música").category_id
    places = [root, *(blog.categories.add(name, root).category_id for name in ("Samba", "Choro"))]
    created = []
    for number in range(13):
        clock.passes(hours=1)
        created.append(published(blog, places[number % 3], f"nº {number}").post_id)
    with db.measure() as used:
        first = blog.categories.posts(root)
    assert used.requests == 1 + len(places)
    second = blog.categories.posts(root, cursor=first.cursor)
    assert [each.post_id for each in first.items + second.items] == created[::-1]
    assert (len(first.items), second.cursor) == (10, None)


def test_a_root_has_a_bounded_number_of_subcategories(blog: Blog) -> None:
    root = blog.categories.add("Música").category_id
    for number in range(d.MAX_CHILDREN):
        blog.categories.add(f"Ritmo {number}", root)
    with pytest.raises(LimitReached, match="would exceed the limit child_count <= 24"):
        blog.categories.add("Mais um", root)
    every = [each.category_id for each in blog.db(d.subcategories(root))]
    blog.categories.reorder(root, every[::-1])
    assert [each.category_id for each in blog.db(d.subcategories(root))] == every[::-1]


def test_there_are_no_more_roots_than_one_transaction_can_reorder(blog: Blog, db: Store) -> None:
    every = [blog.categories.add(f"Raiz {number}").category_id for number in range(MAX_ROOTS)]
    with pytest.raises(InvalidValue, match=r"Category\.parent_id: there are 90 root categories already"):
        blog.categories.add("Mais uma")
    blog.categories.reorder(None, every[::-1])
    assert [each.category_id for each in db(d.root_categories())] == every[::-1]


def test_only_an_empty_category_is_removed(blog: Blog, db: Store, post: d.Post) -> None:
    samba = post.subcategory_id
    assert samba is not None
    (root,) = [each.category_id for each in db(d.root_categories())]
    for full, name in ((root, "Música"), (samba, "Samba")):
        with pytest.raises(InvalidValue, match=f"Category.category_id: '{name}' still has subcategories or posts"):
            blog.categories.remove(full)
    blog.remove(post.post_id)
    blog.categories.remove(samba)
    blog.categories.remove(root)
    assert [item["PK"]["S"] for item in disk(db)] == ["CATEGORY_SEQUENCE#ROOTS"]


# exact counters, text in its own item -----------------------------------------------------------------------------


def test_counting_changes_neither_updated_at_nor_the_text(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    before = blog.read(post.post_id)
    clock.passes(hours=1)
    blog.like(BIA, post.post_id)
    blog.bookmark(BIA, post.post_id)
    blog.comments.add(post.post_id, BIA, "Oi")
    after, text = blog.read(post.post_id)
    assert (after.like_count, after.bookmark_count, after.comment_count) == (1, 1, 1)
    assert after.updated_at == before[0].updated_at
    assert text == before[1]


def test_a_like_costs_the_same_on_a_long_and_a_short_post(blog: Blog, db: Store, post: d.Post) -> None:
    with db.measure() as short:
        blog.like(BIA, post.post_id)
    blog.edit(post.post_id, content="palavra " * 2_500)
    with db.measure() as long:
        blog.like(CAIO, post.post_id)
    assert long.writes == short.writes == 10  # like, guard and post twice each, two copies of the like and of the post


# roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ([], d.Role.READER),
        (["AUTHOR"], d.Role.AUTHOR),
        (["ADMIN", "AUTHOR"], d.Role.ADMIN),
        (["eu-west-1_users"], d.Role.READER),
    ],
)
def test_the_token_s_groups_decide_the_role(blog: Blog, db: Store, groups: list[str], role: d.Role) -> None:
    blog.register(ANA, "Ana", groups=groups)
    assert [each.user_id for each in db(d.users_by_role(role))] == [ANA]


def test_users_move_between_roles(blog: Blog, db: Store) -> None:
    blog.register(ANA, "Ana")
    blog.assign_role(ANA, d.Role.EDITOR)
    assert list(db(d.users_by_role(d.Role.READER))) == []
    assert [each.name for each in db(d.users_by_role(d.Role.EDITOR))] == ["Ana"]
