"""Invented secrets of many kinds, in the forms in which people note them down. Seeded; nothing here is real.

`KINDS` makes a value of each kind; `FORMS` writes one into a note. The kinds are those of services with a
mark of their own, of services without one, and what people choose themselves.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_URL = _ALNUM + "_-"
_HEX = "0123456789abcdef"

Make = Callable[[random.Random], str]


def _of(pattern: str) -> Make:
    """`"ghp_" + 36 a`: pieces in quotes stand for themselves, `N x` for N characters of an alphabet."""
    alphabets = {
        "a": _ALNUM,
        "l": _LOWER,
        "u": _UPPER,
        "h": _HEX,
        "w": _URL,
        "d": string.digits,
        "b": _ALNUM + "+/",
    }

    def make(rng: random.Random) -> str:
        pieces = []
        for piece in pattern.split(" + "):
            if piece.startswith('"'):
                pieces.append(piece.strip('"'))
            else:
                count, alphabet = piece.split()
                pieces.append("".join(rng.choice(alphabets[alphabet]) for _ in range(int(count))))
        value = "".join(pieces)
        # One that ends in a sign would be cut there by every reader.
        return value[:-1] + "x" if value[-1] in "_-" else value

    return make


def _jwt(rng: random.Random) -> str:
    return "eyJ" + "hbGciOiJIUzI1NiJ9." + _of('"eyJ" + 60 a')(rng) + "." + _of("43 w")(rng)


def _uuid(rng: random.Random) -> str:
    return _of('8 h + "-" + 4 h + "-" + 4 h + "-" + 4 h + "-" + 12 h')(rng)


_WORDS = [
    "otter",
    "maple",
    "copper",
    "violet",
    "tunnel",
    "harbor",
    "pepper",
    "walnut",
    "silver",
    "rocket",
    "candle",
    "meadow",
]


def _password(rng: random.Random) -> str:
    """As people choose them: a word with digits and perhaps a sign."""
    word = rng.choice(_WORDS)
    return rng.choice([word, word.title()]) + str(rng.randrange(10, 9999)) + rng.choice(["", "!", "$x", "#k"])


def _strong_password(rng: random.Random) -> str:
    letters = _ALNUM + "!$%^*-_=+"
    value = [rng.choice(letters) for _ in range(rng.randrange(14, 24))]
    return rng.choice(string.ascii_letters) + "".join(value) + str(rng.randrange(10, 99))


def _passphrase(rng: random.Random) -> str:
    return "-".join(rng.sample(_WORDS, 4))


@dataclass(frozen=True)
class Kind:
    """`service` is how a note names it; `noun` what it is there; `variable` its environment variable."""

    service: str
    noun: str
    variable: str
    make: Make
    alone: bool = True
    """It is known by its mark, without a word beside it."""


def _kind(service: str, noun: str, variable: str, make: str | Make, *, alone: bool = True) -> Kind:
    return Kind(service, noun, variable, _of(make) if isinstance(make, str) else make, alone)


KINDS: tuple[Kind, ...] = (
    _kind("Anthropic", "API key", "ANTHROPIC_API_KEY", '"sk-ant-" + "api03-" + 93 w'),
    _kind("OpenAI", "key", "OPENAI_KEY", '"sk-proj-" + 74 w'),
    _kind("OpenRouter", "API key", "OPENROUTER_API_KEY", '"sk-or-v1-" + 64 h'),
    _kind("Groq", "key", "GROQ_API_KEY", '"gsk_" + 52 a'),
    _kind("xAI", "API key", "XAI_API_KEY", '"xai-" + 80 a'),
    _kind("Perplexity", "API key", "PPLX_KEY", '"pplx-" + 48 a'),
    _kind("NVIDIA", "key", "NVIDIA_API_KEY", '"nvapi-" + 64 w'),
    _kind("Hugging Face", "token", "HF_TOKEN", '"hf_" + 34 a'),
    _kind("Replicate", "token", "REPLICATE_API_TOKEN", '"r8_" + 37 a'),
    _kind("Google", "API key", "GOOGLE_API_KEY", '"AIza" + 35 w'),
    _kind("Google OAuth", "client secret", "GOOGLE_CLIENT_SECRET", '"GOCSPX-" + 28 w'),
    _kind("Tavily", "key", "TAVILY_API_KEY", '"tvly-" + "dev-" + 32 a'),
    _kind("Pinecone", "API key", "PINECONE_API_KEY", '"pcsk_" + 6 a + "_" + 60 a'),
    _kind("LangSmith", "key", "LANGSMITH_API_KEY", '"lsv2_pt_" + 32 h + "_" + 10 h'),
    _kind("GitHub", "token", "GITHUB_TOKEN", '"ghp_" + 36 a'),
    _kind("GitHub", "fine-grained token", "GH_PAT", '"github_pat_" + 22 a + "_" + 59 a'),
    _kind("GitLab", "token", "GITLAB_TOKEN", '"glpat-" + 20 w'),
    _kind("GitLab feed", "token", "GITLAB_FEED_TOKEN", '"glft-" + 20 w'),
    _kind("Bitbucket", "app password", "BITBUCKET_APP_PASSWORD", '"ATBB" + 24 a + 8 u'),
    _kind("Jira", "API token", "JIRA_API_TOKEN", '"ATATT3xFfGF0" + 160 w + "=" + 8 u'),
    _kind("npm", "token", "NPM_TOKEN", '"npm_" + 36 a'),
    _kind("PyPI", "token", "TWINE_PASSWORD", '"pypi-AgEIcHlwaS5vcmc" + 120 w'),
    _kind("RubyGems", "key", "GEM_HOST_API_KEY", '"rubygems_" + 48 h'),
    _kind("Docker Hub", "token", "DOCKER_TOKEN", '"dckr_pat_" + 27 w'),
    _kind("CircleCI", "token", "CIRCLE_TOKEN", '"CCIPAT_" + 22 a + "_" + 40 h'),
    _kind("Sonar", "token", "SONAR_TOKEN", '"sqp_" + 40 h'),
    _kind("Pulumi", "token", "PULUMI_ACCESS_TOKEN", '"pul-" + 40 h'),
    _kind("Vault", "token", "VAULT_TOKEN", '"hvs.CAES" + 90 w'),
    _kind("Doppler", "token", "DOPPLER_TOKEN", '"dp.pt." + 43 a'),
    _kind("1Password", "service account", "OP_SERVICE_ACCOUNT_TOKEN", '"ops_eyJ" + 120 a'),
    _kind("age", "key", "AGE_KEY", '"AGE-SECRET-KEY-1" + 58 u'),
    _kind("Tailscale", "auth key", "TS_AUTHKEY", '"tskey-auth-" + 17 a + "-" + 32 a'),
    _kind("AWS", "access key id", "AWS_ACCESS_KEY_ID", '"AKIA" + 16 u'),
    _kind("AWS", "secret access key", "AWS_SECRET_ACCESS_KEY", "40 b", alone=False),
    _kind("Bedrock", "key", "AWS_BEARER_TOKEN_BEDROCK", '"ABSKQmVkcm9ja0FQSUtleS" + 100 b'),
    _kind("DigitalOcean", "token", "DO_TOKEN", '"dop_v1_" + 64 h'),
    _kind("Cloudflare", "API token", "CLOUDFLARE_API_TOKEN", "40 w", alone=False),
    _kind("Netlify", "token", "NETLIFY_AUTH_TOKEN", '"nfp_" + 36 a'),
    _kind("Supabase", "secret key", "SUPABASE_KEY", '"sb_secret_" + 31 w'),
    _kind("Supabase", "access token", "SUPABASE_ACCESS_TOKEN", '"sbp_" + 40 h'),
    _kind("PlanetScale", "password", "PLANETSCALE_PASSWORD", '"pscale_pw_" + 43 w'),
    _kind("Databricks", "token", "DATABRICKS_TOKEN", '"dapi" + 32 h'),
    _kind("Stripe", "key", "STRIPE_KEY", '"sk_live_" + 24 a'),
    _kind("Stripe webhook", "secret", "STRIPE_WEBHOOK_SECRET", '"whsec_" + 32 a'),
    _kind("Square", "secret", "SQUARE_SECRET", '"sq0csp-" + 43 w'),
    _kind("Shopify", "token", "SHOPIFY_TOKEN", '"shpat_" + 32 h'),
    _kind("Slack", "bot token", "SLACK_BOT_TOKEN", '"xoxb-" + 12 d + "-" + 12 d + "-" + 24 a'),
    _kind("Discord", "bot token", "DISCORD_TOKEN", '"MTE" + 23 a + ".G" + 5 a + "." + 38 w'),
    _kind("Telegram", "bot token", "TELEGRAM_TOKEN", '10 d + ":AA" + 33 w'),
    _kind("SendGrid", "key", "SENDGRID_KEY", '"SG." + 22 w + "." + 43 w'),
    _kind("Mailgun", "key", "MAILGUN_KEY", '"key-" + 32 h'),
    _kind("Mailchimp", "key", "MAILCHIMP_KEY", '32 h + "-us14"'),
    _kind("Twilio", "auth token", "TWILIO_AUTH_TOKEN", "32 h", alone=False),
    _kind("Datadog", "API key", "DD_API_KEY", "32 h", alone=False),
    _kind("Sentry", "token", "SENTRY_AUTH_TOKEN", '"sntrys_eyJ" + 140 a'),
    _kind("Grafana", "token", "GRAFANA_TOKEN", '"glsa_" + 32 a + "_" + 8 h'),
    _kind("New Relic", "key", "NEW_RELIC_API_KEY", '"NRAK-" + 27 u'),
    _kind("Notion", "token", "NOTION_TOKEN", '"ntn_" + 46 a'),
    _kind("Linear", "key", "LINEAR_API_KEY", '"lin_api_" + 40 a'),
    _kind("Figma", "token", "FIGMA_TOKEN", '"figd_" + 40 w'),
    _kind("Postman", "key", "POSTMAN_API_KEY", '"PMAK-" + 24 h + "-" + 34 h'),
    _kind("Heroku", "API key", "HEROKU_API_KEY", _uuid, alone=False),
    _kind("Azure", "client secret", "AZURE_CLIENT_SECRET", '3 a + "8Q~" + 34 a'),
    _kind("Terraform Cloud", "token", "TFE_TOKEN", '14 a + ".atlasv1." + 67 a'),
    _kind("session", "token", "SESSION_TOKEN", _jwt),
    _kind("internal", "API key", "INTERNAL_API_KEY", "32 a", alone=False),
    _kind("webhook", "signing key", "WEBHOOK_SIGNING_KEY", "48 h", alone=False),
    _kind("db", "password", "DB_PASSWORD", _password, alone=False),
    _kind("staging", "password", "STAGING_PASS", _strong_password, alone=False),
    _kind("postgres", "password", "PGPASSWORD", _password, alone=False),
    _kind("root", "password", "MYSQL_ROOT_PASSWORD", _strong_password, alone=False),
    _kind("backup", "passphrase", "BACKUP_PASSPHRASE", _passphrase, alone=False),
)


def _slug(kind: Kind) -> str:
    return f"{kind.service} {kind.noun}".lower().replace(" ", "_").replace("-", "_")


Form = Callable[[Kind, str, random.Random], str]

FORMS: dict[str, Form] = {
    "sentence": lambda kind, value, rng: rng.choice(
        [
            f"For the tests we use the {kind.service} {kind.noun}, which is {value} until March.",
            f"The {kind.service} {kind.noun} is {value}.",
            f"Note: {kind.service} {kind.noun} is now `{value}`, ask Ada before you rotate it.",
        ]
    ),
    "bullet": lambda kind, value, rng: rng.choice(
        [
            f"- {kind.service} {kind.noun}: {value}",
            f"* **{kind.service} {kind.noun}**: `{value}`",
            f"- [ ] rotate the {kind.service} {kind.noun} ({kind.noun}: {value})",
        ]
    ),
    "fence": lambda kind, value, rng: rng.choice(
        [
            f"{kind.service} {kind.noun}:\n\n```\n{value}\n```\n",
            f"```sh\nexport {kind.variable}='{value}'\n```\n",
            f'```python\nclient = Client({_slug(kind)}="{value}")\n```\n',
        ]
    ),
    "table": lambda kind, value, rng: rng.choice(
        [
            f"| what | value |\n|---|---|\n| {kind.service} {kind.noun} | {value} |\n",
            f"| env | {kind.noun} | owner |\n|:--|:--|:--|\n| {kind.service} | `{value}` | Ada |\n",
        ]
    ),
    "env": lambda kind, value, rng: rng.choice(
        [f"{kind.variable}={value}", f'export {kind.variable}="{value}"', f"{kind.variable}: {value}"]
    ),
    "yaml": lambda kind, value, rng: rng.choice(
        [
            f"service:\n  {_slug(kind)}: {value}\n",
            f"service:\n  {_slug(kind)}: >-\n    {value}\n",
            f"service:\n  {_slug(kind)}:\n    {value}\n",
        ]
    ),
    "json": lambda kind, value, rng: rng.choice(
        [
            f'{{"name": "x", "{_slug(kind)}": "{value}"}}',
            f'{{"env": {{"{kind.variable}": "{value}"}}}}',
        ]
    ),
    "url": lambda kind, value, rng: (
        f"https://api.example.com/v1/items?{_slug(kind)}={value}&page=2"
        if kind.alone
        else f"postgres://app:{value.replace('/', '_').replace('#', '_')}@db.example.com:5432/app"
    ),
    "header": lambda kind, value, rng: rng.choice(
        [
            f"X-{kind.service.replace(' ', '-')}-{kind.noun.title().replace(' ', '-')}: {value}",
            f"Authorization: Bearer {value}",
            f'headers = {{"Authorization": "Token {value}"}}',
        ]
    ),
    "shell": lambda kind, value, rng: rng.choice(
        [
            f"curl -u ada:{value} https://api.example.com/",
            f"{kind.variable}={value} ./deploy.sh --fast",
            f"tool login --{kind.noun.lower().replace(' ', '-')} {value} --verbose",
        ]
    ),
}


@dataclass(frozen=True)
class Noted:
    """A secret in a note."""

    kind: Kind
    form: str
    value: str
    text: str


def noted(kind: Kind, form: str, seed: int) -> Noted:
    """One secret of a kind in one form."""
    rng = random.Random(f"{seed} {kind.variable} {form}")
    value = kind.make(rng)
    text = FORMS[form](kind, value, rng)
    if form == "url" and not kind.alone:
        value = value.replace("/", "_").replace("#", "_")
    return Noted(kind, form, value, text)


def sample(count: int, seed: int) -> list[Noted]:
    """`count` secrets: every kind about as often, the forms in turn."""
    forms = list(FORMS)
    order = list(KINDS)
    random.Random(seed).shuffle(order)
    return [
        noted(order[number % len(order)], forms[(number + number // len(order)) % len(forms)], seed + number)
        for number in range(count)
    ]


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
