"""Names that nobody can take as a subdomain, a slug or the beginning of a handle.

They are names of services, of mail and network conventions (RFC 2142, WPAD), and of what the operator does.
"""

RESERVED = frozenset(
    """
    about abuse access account accounts admin administrator analytics announcements api apis app apps assets
    atproto auth authentication autoconfig autodiscover billing bsky build builds cache cdn checkout cname
    config console contact cpanel dashboard data database db debug demo dev developer developers dkim dmarc dns
    docs document documentation domain domains download downloads email embed error errors exchange export faq
    favicon feeds ftp git graphql help helpdesk hosting hostmaster http https id imap import internal intranet
    invitations ipv4 ipv6 keys legal licence license local localhost log login logout logs mail mail1 mail2
    mailer mailman mailserver me media messages metrics moderator moderators monitor mta mx mx1 mx2 mysql names
    nbhd neighborhood neighborhoods newsletter no-reply nobody noreply notifications ns ns0 ns1 ns2 ns3 ns4 null
    oauth official ops password payment payments pop pop3 portal postmaster privacy profile public purge
    register registration reset root rss search secure security server service services settings setup sftp
    signin signup site sitemap sites smtp spf sql ssh ssl ssladmin staff staging static status subdomain
    subdomains support sysadmin system team teams telnet terms test tls token tokens undefined unsubscribe
    upload uploads usenet user users uucp verify vpn web webhook webhooks webmail webmaster well-known wpad www
    www1 www2 www3 xmpp
    """.split()
)
