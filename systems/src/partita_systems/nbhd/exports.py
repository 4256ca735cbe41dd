"""Exports of sites: their source as JSON, and archives with the built files, which can be fetched for 7 days."""

from functools import cached_property
from urllib.parse import quote

from partita import AlreadyExists, F, NotFound
from partita_systems.nbhd import design as d
from partita_systems.nbhd import ports
from partita_systems.nbhd.building.build import packed
from partita_systems.nbhd.building.templates import checked_template
from partita_systems.nbhd.site_files import SiteFiles, export_key
from partita_systems.nbhd.site_source import SiteSource, source_of, written
from partita_systems.nbhd.validation import checked_config, checked_subdomain, public_url
from partita_systems.service_base import ServiceBase

DOWNLOADS = "/downloads"


class Exports(ServiceBase):
    """Sources and archives of sites."""

    @cached_property
    def files(self) -> SiteFiles:
        """The files of the table in the object store; the table gets its space now if it has none."""
        found = self.db(d.object_space(), consistent=True)
        if found is None:
            try:
                found = self.db.create(d.ObjectSpace(space=self.new_id("o")))
            except AlreadyExists:
                found = self.db.one(d.object_space(), consistent=True)
        return SiteFiles(ports.objects(), found.space)

    def source(self, did: str, site_id: str) -> SiteSource:
        return source_of(self.db.one(d.site(did, site_id), consistent=True))

    def put_source(self, did: str, site_id: str, source: SiteSource) -> d.Site:
        """Put a source back: title, template, subdomain and config become what it says."""

        def edit(site: d.Site) -> None:
            site.title = source.title
            site.config = checked_config(source.config)
            if site.template != source.template:
                site.template = checked_template(source.template)
            if site.subdomain != source.subdomain:
                site.subdomain = checked_subdomain(source.subdomain)
                site.public_url = public_url(site.subdomain)

        return self.db.update(d.site(did, site_id), edit)

    def export_site(self, did: str, site_id: str) -> d.SiteExport:
        """Create an archive of a site: `site.json`, and the files of its last good build below `public/`."""
        site = self.db.one(d.site(did, site_id), consistent=True)
        built = self.files.built(site_id, site.build_id) if site.build_id is not None else None
        content = {"site.json": written(source_of(site))}
        content |= {f"public/{path}": data for path, data in (built or {}).items()}
        export_id = self.new_id("x")
        self.files.objects.put(export_key(site_id, export_id), packed(content))
        exported = d.SiteExport(
            did=did,
            site_id=site_id,
            export_id=export_id,
            exported_at=self.now(),
            archive_url=f"{DOWNLOADS}/exports/{quote(did)}/{quote(site_id, safe='')}/{export_id}.zip",
        )
        with self.db.transaction() as transaction:
            transaction.check(d.site(did, site_id), F.site_id == site_id)
            return transaction.create(exported)

    def archive(self, did: str, site_id: str, export_id: str) -> bytes:
        """The archive of an export; NotFound when its 7 days are over."""
        found = self.db.one(d.export(did, site_id, export_id))
        data = self.files.objects.get(export_key(site_id, export_id))
        if data is None:
            raise NotFound(d.SiteExport.__name__, {"export_id": found.export_id})
        return data
