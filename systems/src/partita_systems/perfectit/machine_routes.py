"""What machines write over HTTP: notifications, trends, views and daily metrics, as the consumers of the stream do."""

from datetime import date

from msgspec import structs

from partita.rest import Api, IfMatch
from partita_systems.perfectit import bodies as b
from partita_systems.perfectit import design as d
from partita_systems.perfectit.access import admin, machines
from partita_systems.perfectit.comment_keys import GivenTime, made_at
from partita_systems.perfectit.service import PerfectIt

DAY = "/metrics/{day}"
TREND = "/cards/{card_id}/trend"


def declare(api: Api[PerfectIt]) -> None:
    """Add the routes of this module."""
    api.put("/users/{user_id}/notifications/{notification_id}", who=machines)(tell)
    api.expose_get(TREND, d.trend, who=machines)
    api.put(TREND, who=machines)(set_trend)
    api.expose_delete(TREND, d.trend, who=machines)
    api.post("/cards/{card_id}/views", who=machines)(count_views)
    api.expose_list("/metrics", d.metrics_between, who=admin)
    api.get(DAY, who=admin)(metrics_of_day)
    api.put(DAY, who=machines)(set_metrics)
    api.delete(DAY, who=machines)(delete_metrics)


def tell(
    service: PerfectIt, user_id: str, notification_id: str, new: b.NewNotification, created_at: GivenTime = None
) -> d.Notification:
    """Tell somebody what happened to what they made; its id is the event's, so telling twice is once."""
    with made_at(notification_id, created_at) as at:
        return service.tell(
            d.Notification(
                notification_id=notification_id,
                user_id=user_id,
                notification_type=new.notification_type,
                actor_id=new.actor_id,
                card_id=new.card_id,
                created_at=at,
            )
        )


def set_trend(service: PerfectIt, card_id: str, new: b.NewTrend) -> d.Trend:
    """How fast a published card gathers attention; it is forgotten after a week without news."""
    return service.set_trend(card_id, new.score)


def count_views(service: PerfectIt, card_id: str, new: b.NewViews) -> None:
    """So many views more."""
    service.cards.count_views(card_id, new.views)


def metrics_of_day(service: PerfectIt, day: date) -> d.DailyMetrics:
    """What happened on one day."""
    return service.db.one(d.metrics(day))


def set_metrics(service: PerfectIt, day: date, new: b.NewMetrics) -> d.DailyMetrics:
    """What happened on a day, in place of what was known of it."""
    return service.db.put(d.DailyMetrics(day=day, **structs.asdict(new)))


def delete_metrics(service: PerfectIt, day: date, match: IfMatch) -> None:
    """Nothing is known of that day any more."""
    found = service.db.one(d.metrics(day), consistent=True)
    service.db.delete(found, when=match.when(found))
