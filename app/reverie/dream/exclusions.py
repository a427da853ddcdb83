"""Words that exclude each other: antonyms, days, environments, systems, states.

When each of two statements has another word of such a group, they do not say the same; when each of two names
has, the notes are about different things. A word may stand in several groups.

Pure data and one question about it.
"""

from __future__ import annotations

from collections import defaultdict

from reverie.dream.folding import word


def _groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(line.split()) for line in text.strip().splitlines())


# Words of which two different ones cannot both hold: when each of two statements has another one of a group,
# they do not say the same. Antonyms, environments, days, months, systems, languages, states.
EXCLUSIVE = _groups(
    """
    enable disable
    enabled disabled
    activate deactivate
    aktiviert deaktiviert
    aktivieren deaktivieren
    activer désactiver
    activé désactivé
    active inactive
    allow deny block
    include exclude
    add remove
    lock unlock
    encrypt decrypt
    encode decode
    upload download
    push pull fetch
    import export
    importer exporter
    read write
    reader writer
    server client
    frontend backend
    front back
    start stop
    open close
    opened closed
    accept reject
    accepted rejected
    approve reject
    increase decrease reduce
    raise lower
    required optional
    mandatory optional
    obligatoire facultatif facultative
    erforderlich optional
    public private
    internal external
    inbound outbound
    input output
    incoming outgoing
    synchronous asynchronous
    sync async
    ascending descending
    asc desc
    bound:upper bound:lower
    before after
    old new
    vor nach
    avant après
    antes después
    until since
    true false
    on off
    pass fail
    success failure
    manual automatic
    manually automatically
    manuell automatisch
    local remote
    online offline
    left right
    top bottom
    upper lower
    uppercase lowercase
    horizontal vertical
    above below
    inside outside
    inner outer
    first second third fourth last
    newest oldest
    latest oldest
    high low
    higher lower
    long short
    longer shorter
    hot cold
    warm cold
    strict loose lenient
    mutable immutable
    stateful stateless
    eager lazy
    optimistic pessimistic
    primary secondary replica standby
    leader follower
    master slave
    parent child
    source target
    producer consumer
    sender receiver
    hard soft
    tabs spaces
    tab space
    single double triple
    even odd
    hourly daily weekly biweekly monthly quarterly yearly
    morning afternoon evening night
    vormittag nachmittag abend
    matin soir
    monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    montags dienstags mittwochs donnerstags freitags samstags sonntags
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
    january february march april june july august september october november december
    januar februar märz april mai juni juli august september oktober november dezember
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    q1 q2 q3 q4
    production staging development sandbox preview qa uat preprod canary demo
    produktion staging
    linux macos windows freebsd
    ubuntu debian fedora alpine arch
    ios android web desktop
    laptop desktop
    phone tablet laptop desktop
    x86 arm
    amd64 arm64
    postgres mysql mariadb sqlite oracle mssql mongodb
    kafka rabbitmq nats sqs
    redis memcached
    typescript javascript python rust go java kotlin swift ruby php scala elixir
    react vue svelte angular
    npm pnpm yarn bun
    pip poetry uv conda
    aws gcp azure
    github gitlab bitbucket
    english german french spanish italian portuguese japanese chinese korean russian polish dutch
    deutsch englisch französisch spanisch
    français anglais allemand espagnol
    light dark
    hell dunkel
    clair sombre
    white black
    red green blue yellow orange purple
    done open running pending blocked
    erledigt offen
    fini ouvert
    resolved unresolved
    decided undecided considering
    draft final
    eu us apac
    europe america asia
    admin viewer editor guest
    unit integration endtoend e2e
    sunrise sunset
    launch sunset
    http https
    tcp udp
    json xml yaml toml csv
    get post put patch
    eur usd gbp chf jpy
    north south east west
    fast slow
    serial parallel
    sequential parallel
    always sometimes
    immer manchmal
    toujours parfois
    always rarely
    some none
    all some few
    yes no
    ja nein
    oui non
    bump pin
    """
)

# In names and titles these are subjects: two notes that name different ones are about different things.
_PRODUCTS = """
    postgres postgresql mysql mariadb sqlite oracle mssql mongodb cassandra dynamodb redis memcached
    etcd clickhouse snowflake bigquery redshift kafka rabbitmq nats sqs pulsar elasticsearch opensearch
    solr docker podman kubernetes nomad terraform ansible helm nginx apache caddy traefik envoy haproxy
    prometheus grafana loki datadog sentry jenkins circleci argocd vault consul aws gcp azure heroku
    cloudflare fastly vercel netlify github gitlab bitbucket jira linear slack teams discord zoom python
    javascript typescript java kotlin scala ruby php golang rust swift elixir haskell react vue svelte
    angular django flask fastapi rails laravel spring express webpack vite rollup esbuild npm pnpm yarn
    poetry pip uv conda maven gradle cargo bazel jest vitest pytest playwright cypress selenium linux
    macos windows ubuntu debian fedora ios android firefox chrome safari vim emacs vscode zsh bash fish
    tmux stripe paypal twilio sendgrid
"""
PRODUCTS = frozenset(map(word, _PRODUCTS.split()))


def _numbers_by_word() -> dict[str, tuple[int, ...]]:
    groups: dict[str, set[int]] = defaultdict(set)
    for number, group in enumerate(EXCLUSIVE):
        for each in group:
            groups[word(each)].add(number)
    return {each: tuple(sorted(numbers)) for each, numbers in groups.items()}


_GROUPS_OF = _numbers_by_word()


def excludes(a: frozenset[str], b: frozenset[str], *, strict: bool = False) -> bool:
    """Whether each side has a word of a group that the other side has another word of.

    `strict`: of groups of more than three (days, systems) both must have the same words if they have any.
    """
    of_a, of_b = _members(a), _members(b)
    for group in of_a.keys() & of_b.keys():
        if of_a[group] - of_b[group] and of_b[group] - of_a[group]:
            return True
        if strict and len(EXCLUSIVE[group]) > 3 and of_a[group] != of_b[group]:
            return True
    return False


def excluding_words(seen: frozenset[str]) -> frozenset[str]:
    """Those of some words that exclude any other."""
    return frozenset(word(each) for each in seen if each in _GROUPS_OF or word(each) in _GROUPS_OF)


def _members(seen: frozenset[str]) -> dict[int, set[str]]:
    """By group, the words of it that were seen."""
    members: dict[int, set[str]] = defaultdict(set)
    for each in seen:
        for group in _GROUPS_OF.get(each) or _GROUPS_OF.get(word(each), ()):
            members[group].add(word(each))
    return members
