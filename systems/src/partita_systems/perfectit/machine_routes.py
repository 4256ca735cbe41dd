"""API routes for machines: the consumers of the stream write notifications, trends, views and daily metrics."""

from datetime import date

from msgspec import structs

from partita.rest import Api, IfMatch
from partita_systems.perfectit import bodies as b
from partita_systems.perfectit import design as d
from partita_systems.perfectit.access import admin, machines
from partita_systems.perfectit.comment_keys import CreatedAtParameter, key_time
from partita_systems.perfectit.service import PerfectIt

DAY = "/metrics/{day}"
TREND = "/cards/{card_id}/trend"


def declare(api: Api[PerfectIt]) -> None:
    """Add these routes to the API."""
    api.put("/users/{user_id}/notifications/{notification_id}", who=machines)(notify)
    api.expose_get(TREND, d.trend, who=machines)
    api.put(TREND, who=machines)(set_trend)
    api.expose_delete(TREND, d.trend, who=machines)
    api.post("/cards/{card_id}/views", who=machines)(count_views)
    api.expose_list("/metrics", d.metrics_between, who=admin)
    api.get(DAY, who=admin)(metrics_of_day)
    api.put(DAY, who=machines)(set_metrics)
    api.delete(DAY, who=machines)(delete_metrics)


def notify(
    service: PerfectIt,
    user_id: str,
    notification_id: str,
    new: b.NewNotification,
    created_at: CreatedAtParameter = None,
) -> d.Notification:
    """Store a notification; its id is the id of the event, so a repeated delivery changes nothing."""
    with key_time(notification_id, created_at) as at:
        return service.notify(
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
    """Set how fast a published card gathers attention; expires after a week."""
    return service.set_trend(card_id, new.score)


def count_views(service: PerfectIt, card_id: str, new: b.NewViews) -> d.PerfectionCard:
    """Add views to a card."""
    service.cards.count_views(card_id, new.views)
    return service.db.one(d.card(card_id), consistent=True)


def metrics_of_day(service: PerfectIt, day: date) -> d.DailyMetrics:
    """Get the metrics of a day."""
    return service.db.one(d.metrics(day))


def set_metrics(service: PerfectIt, day: date, new: b.NewMetrics) -> d.DailyMetrics:
    """Set the metrics of a day, replacing earlier ones."""
    return service.db.put(d.DailyMetrics(day=day, **structs.asdict(new)))


def delete_metrics(service: PerfectIt, day: date, match: IfMatch) -> None:
    """Delete the metrics of a day."""
    found = service.db.one(d.metrics(day), consistent=True)
    service.db.delete(found, when=match.when(found))
