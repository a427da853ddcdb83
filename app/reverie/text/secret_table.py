"""What secrets of known services look like: data, one row each, with the place that says so.

`PREFIXED` holds secrets that begin with a mark of their service; a row says which characters follow and how
many at least. `PATTERNS` holds secrets whose mark is inside or around them, each with a word without which
the pattern cannot match. `NEARBY` holds secrets without any mark: they count only on a line that names the
service and has a word for a secret on it.

Invariants, each with a test: prefixes are unique; every pattern matches only texts that hold its word; no
pattern has a possessive quantifier or an atomic group (Python before 3.11.5 matches those wrongly). The
source is the documentation of the service itself, by site and page. Pure data, no code runs over a text here.
"""

from __future__ import annotations

from dataclasses import dataclass

ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
HEX = "0123456789abcdefABCDEF"
WORD = ALNUM + "_"
DASHED = ALNUM + "-"
URL_SAFE = ALNUM + "_-"
DOTTED = URL_SAFE + "."
BASE64 = ALNUM + "+/="
URL_BASE64 = URL_SAFE + "="


LONG_WORD = 30


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A secret that begins with `prefix`."""

    service: str
    prefix: str
    """Unique in the table, case counts."""
    alphabet: str
    """The characters that follow the prefix."""
    least: int
    """How many characters follow at least; fewer make no secret."""
    source: str
    """Site and page of the documentation that describes the form."""
    exact: bool = False
    """Exactly `least` characters follow, and then none of the alphabet."""
    random: bool = False
    """The prefix is short or an ordinary word, so the rest must look random too."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A secret with a form of its own. Group 1 of `pattern`, or all of it, is the secret."""

    service: str
    word: str
    """Part of whatever the pattern matches; texts without it are not searched."""
    pattern: str
    source: str

    @property
    def is_one_word(self) -> bool:
        """Whether the secret is in one word of at least `LONG_WORD` characters, so that only such words are
        searched. The words of other patterns are long enough to be rare."""
        return len(self.word) < 4 or self.word in ("_mmk", "token-", "NRAL")


@dataclass(frozen=True, slots=True)
class Nearby:
    """A secret that only its surroundings give away."""

    service: str
    names: tuple[str, ...]
    """One of them, in lower case, is on the same line."""
    pattern: str
    """Matches the secret as a whole word."""
    source: str


PREFIXED: tuple[Prefixed, ...] = (
    # Models and their tools
    Prefixed("Anthropic", "sk-ant-", URL_SAFE, 12, "docs.anthropic.com, API keys"),
    Prefixed("OpenAI", "sk-proj-", URL_SAFE, 12, "platform.openai.com, API keys"),
    Prefixed("OpenAI", "sk-svcacct-", URL_SAFE, 12, "platform.openai.com, service accounts"),
    Prefixed("OpenAI", "sk-admin-", URL_SAFE, 12, "platform.openai.com, admin API keys"),
    Prefixed("OpenRouter", "sk-or-", URL_SAFE, 12, "openrouter.ai, API authentication"),
    Prefixed("Test keys", "sk-test-", URL_SAFE, 12, "made by hand after the keys of OpenAI and Stripe"),
    Prefixed("Live keys", "sk-live-", URL_SAFE, 12, "made by hand after the keys of OpenAI and Stripe"),
    Prefixed("Langfuse", "sk-lf-", URL_SAFE, 20, "langfuse.com, API keys"),
    Prefixed("Groq", "gsk_", ALNUM, 20, "console.groq.com, API keys"),
    Prefixed("xAI", "xai-", ALNUM, 20, "docs.x.ai, API keys"),
    Prefixed("Perplexity", "pplx-", ALNUM, 20, "docs.perplexity.ai, API keys"),
    Prefixed("NVIDIA", "nvapi-", URL_SAFE, 20, "docs.nvidia.com, NGC keys"),
    Prefixed("Hugging Face", "hf_", ALNUM, 20, "huggingface.co, user access tokens"),
    Prefixed("Hugging Face", "api_org_", ALNUM, 30, "huggingface.co, organisation tokens"),
    Prefixed("Replicate", "r8_", ALNUM, 24, "replicate.com, API tokens"),
    Prefixed("Google", "AIza", URL_SAFE, 30, "cloud.google.com, API keys"),
    Prefixed("Google", "AQ.Ab", URL_SAFE, 30, "ai.google.dev, API keys"),
    Prefixed("Google", "GOCSPX-", URL_SAFE, 20, "developers.google.com, OAuth clients"),
    Prefixed("Google", "ya29.", URL_SAFE, 20, "developers.google.com, OAuth access tokens"),
    Prefixed("Google", "1//0", URL_SAFE, 30, "developers.google.com, OAuth refresh tokens"),
    Prefixed("Tavily", "tvly-", URL_SAFE, 16, "docs.tavily.com, API keys"),
    Prefixed("Pinecone", "pcsk_", WORD, 30, "docs.pinecone.io, API keys"),
    Prefixed("LangSmith", "lsv2_", WORD, 30, "docs.smith.langchain.com, API keys"),
    Prefixed("Together", "tgp_v1_", URL_SAFE, 30, "docs.together.ai, API keys"),
    Prefixed("Fireworks", "fw_", ALNUM, 20, "docs.fireworks.ai, API keys", random=True),
    Prefixed("ElevenLabs", "sk_", HEX, 40, "elevenlabs.io, API keys"),
    Prefixed("Voyage", "pa-", URL_SAFE, 40, "docs.voyageai.com, API keys", random=True),
    Prefixed("Jina", "jina_", URL_SAFE, 32, "jina.ai, API keys", random=True),
    Prefixed("Firecrawl", "fc-", HEX, 32, "docs.firecrawl.dev, API keys"),
    Prefixed("Brave Search", "BSA", URL_SAFE, 24, "brave.com, search API", random=True),
    Prefixed("Cerebras", "csk-", ALNUM, 32, "inference-docs.cerebras.ai, API keys"),
    Prefixed("Anyscale", "esecret_", ALNUM, 20, "docs.anyscale.com, API keys"),
    Prefixed("E2B", "e2b_", HEX, 32, "e2b.dev, API keys"),
    Prefixed("Cursor", "crsr_", HEX, 40, "docs.cursor.com, API keys"),
    Prefixed("Cursor", "key_", HEX, 40, "docs.cursor.com, API keys"),
    Prefixed("Vercel", "vck_", ALNUM, 24, "vercel.com, AI gateway keys"),
    Prefixed("Weights & Biases", "wandb_v1_", URL_SAFE, 30, "docs.wandb.ai, API keys"),
    Prefixed("Mem0", "m0-", ALNUM, 32, "docs.mem0.ai, API keys"),
    Prefixed("Context7", "ctx7sk-", DASHED, 30, "context7.com, API keys"),
    Prefixed("Apify", "apify_api_", ALNUM, 30, "docs.apify.com, API tokens"),
    Prefixed("Browserbase", "bb_live_", URL_SAFE, 20, "docs.browserbase.com, API keys"),
    Prefixed("Coze", "pat_", ALNUM, 60, "coze.com, personal access tokens"),
    # Code hosting, continuous integration, package registries
    Prefixed("GitHub", "ghp_", ALNUM, 20, "docs.github.com, token formats"),
    Prefixed("GitHub", "gho_", ALNUM, 20, "docs.github.com, token formats"),
    Prefixed("GitHub", "ghr_", ALNUM, 20, "docs.github.com, token formats"),
    Prefixed("GitHub", "ghs_", ALNUM, 20, "docs.github.com, token formats"),
    Prefixed("GitHub", "ghu_", ALNUM, 20, "docs.github.com, token formats"),
    Prefixed("GitHub", "github_pat_", WORD, 20, "docs.github.com, fine-grained tokens"),
    Prefixed("GitLab", "glpat-", DOTTED, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "gldt-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glrt-", DOTTED, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glptt-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glcbt-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glft-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glsoat-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glimt-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glagent-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "gloas-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "glffct-", URL_SAFE, 16, "docs.gitlab.com, token prefixes"),
    Prefixed("GitLab", "GR1348941", URL_SAFE, 16, "docs.gitlab.com, runner registration tokens"),
    Prefixed("Atlassian", "ATATT3", URL_BASE64, 30, "developer.atlassian.com, API tokens"),
    Prefixed("Atlassian", "ATCTT3", URL_BASE64, 30, "support.atlassian.com, access tokens"),
    Prefixed("Atlassian", "ATATT", URL_BASE64, 40, "developer.atlassian.com, API tokens"),
    Prefixed("Atlassian", "ATOA", URL_BASE64, 40, "developer.atlassian.com, OAuth tokens", random=True),
    Prefixed("Bitbucket", "ATBB", URL_BASE64, 20, "support.atlassian.com, app passwords"),
    Prefixed("npm", "npm_", ALNUM, 30, "npm documentation, access tokens"),
    Prefixed("PyPI", "pypi-", URL_SAFE, 32, "PyPI help, API tokens"),
    Prefixed("RubyGems", "rubygems_", HEX, 32, "RubyGems guides, API keys"),
    Prefixed("NuGet", "oy2", ALNUM, 43, "learn.microsoft.com, NuGet API keys", exact=True, random=True),
    Prefixed("crates.io", "cio", ALNUM, 32, "doc.rust-lang.org, registry tokens", exact=True, random=True),
    Prefixed("Packagist", "packagist_", WORD, 30, "packagist.com, API tokens", random=True),
    Prefixed("Docker Hub", "dckr_pat_", URL_SAFE, 20, "docs.docker.com, access tokens"),
    Prefixed("Docker Hub", "dckr_oat_", URL_SAFE, 20, "docs.docker.com, organisation tokens"),
    Prefixed("Clojars", "CLOJARS_", HEX, 40, "github.com/clojars, deploy tokens"),
    Prefixed("Artifactory", "AKCp", ALNUM, 40, "jfrog.com, API keys"),
    Prefixed("Artifactory", "cmVmdGtuO", ALNUM, 40, "jfrog.com, reference tokens"),
    Prefixed("CircleCI", "CCIPAT_", WORD, 30, "circleci.com, API tokens"),
    Prefixed("CircleCI", "CCIPRJ_", WORD, 30, "circleci.com, project tokens"),
    Prefixed("Buildkite", "bkua_", HEX, 32, "buildkite.com, API access tokens"),
    Prefixed("Buildkite", "bkct_", WORD, 30, "buildkite.com, agent tokens", random=True),
    Prefixed("SonarQube", "sqp_", HEX, 32, "docs.sonarsource.com, tokens"),
    Prefixed("SonarQube", "squ_", HEX, 32, "docs.sonarsource.com, tokens"),
    Prefixed("SonarQube", "sqa_", HEX, 32, "docs.sonarsource.com, tokens"),
    Prefixed("Sourcegraph", "sgp_", WORD, 32, "sourcegraph.com, access tokens", random=True),
    Prefixed("Snyk", "snyk_uat.", DOTTED, 20, "docs.snyk.io, access tokens"),
    Prefixed("Pulumi", "pul-", HEX, 32, "pulumi.com, access tokens"),
    Prefixed("Gitpod", "gitpod_pat_", DOTTED, 20, "gitpod.io, access tokens"),
    Prefixed("JSR and Deno", "ddp_", ALNUM, 30, "docs.deno.com, access tokens"),
    Prefixed("Deno", "ddw_", ALNUM, 30, "docs.deno.com, workers tokens"),
    Prefixed("Weblate", "wlu_", ALNUM, 30, "docs.weblate.org, API tokens"),
    Prefixed("ReadMe", "rdme_", ALNUM, 40, "docs.readme.com, API keys"),
    Prefixed("Prefect", "pnu_", ALNUM, 30, "docs.prefect.io, API keys"),
    Prefixed("Prefect", "pnb_", ALNUM, 30, "docs.prefect.io, API keys"),
    Prefixed("dbt", "dbtc_", URL_BASE64, 30, "docs.getdbt.com, tokens"),
    Prefixed("dbt", "dbtu_", URL_BASE64, 30, "docs.getdbt.com, tokens"),
    Prefixed("Chromatic", "chpt_", ALNUM, 12, "chromatic.com, project tokens"),
    # Secret stores, networks, clouds, hosting
    Prefixed("Vault", "hvs.", URL_SAFE, 20, "developer.hashicorp.com, Vault tokens"),
    Prefixed("Vault", "hvb.", URL_SAFE, 20, "developer.hashicorp.com, Vault tokens"),
    Prefixed("Vault", "hvr.", URL_SAFE, 20, "developer.hashicorp.com, Vault tokens"),
    Prefixed("Doppler", "dp.pt.", ALNUM, 30, "docs.doppler.com, token formats"),
    Prefixed("Doppler", "dp.st.", DOTTED, 30, "docs.doppler.com, token formats"),
    Prefixed("Doppler", "dp.ct.", ALNUM, 30, "docs.doppler.com, token formats"),
    Prefixed("Doppler", "dp.sa.", ALNUM, 30, "docs.doppler.com, token formats"),
    Prefixed("Doppler", "dp.scim.", ALNUM, 30, "docs.doppler.com, token formats"),
    Prefixed("Doppler", "dp.audit.", ALNUM, 30, "docs.doppler.com, token formats"),
    Prefixed("1Password", "ops_", URL_BASE64, 40, "developer.1password.com, service accounts", random=True),
    Prefixed("age", "AGE-SECRET-KEY-1", UPPER, 30, "github.com/FiloSottile/age, keys"),
    Prefixed("Infisical", "st.", DOTTED, 60, "infisical.com, service tokens", random=True),
    Prefixed("Tailscale", "tskey-", DASHED, 16, "tailscale.com, key prefixes"),
    Prefixed("Defined Networking", "dnkey-", URL_SAFE, 30, "docs.defined.net, API keys"),
    Prefixed("AWS", "AKIA", UPPER, 16, "docs.aws.amazon.com, IAM identifiers", exact=True),
    Prefixed("AWS", "ASIA", UPPER, 16, "docs.aws.amazon.com, IAM identifiers", exact=True),
    Prefixed("AWS", "ABIA", UPPER, 16, "docs.aws.amazon.com, IAM identifiers", exact=True),
    Prefixed("AWS", "ACCA", UPPER, 16, "docs.aws.amazon.com, IAM identifiers", exact=True),
    Prefixed("Amazon Bedrock", "ABSK", BASE64, 30, "docs.aws.amazon.com, Bedrock API keys", random=True),
    Prefixed("Amazon Bedrock", "bedrock-api-key-", BASE64, 20, "docs.aws.amazon.com, Bedrock API keys"),
    Prefixed("Alibaba Cloud", "LTAI", ALNUM, 12, "alibabacloud.com, AccessKey pairs"),
    Prefixed("Tencent Cloud", "AKID", ALNUM, 24, "cloud.tencent.com, API keys", random=True),
    Prefixed("Scaleway", "SCW", UPPER, 17, "scaleway.com, API keys", exact=True),
    Prefixed("DigitalOcean", "dop_v1_", HEX, 32, "docs.digitalocean.com, API tokens"),
    Prefixed("DigitalOcean", "doo_v1_", HEX, 32, "docs.digitalocean.com, API tokens"),
    Prefixed("DigitalOcean", "dor_v1_", HEX, 32, "docs.digitalocean.com, API tokens"),
    Prefixed("DigitalOcean", "DO00", UPPER, 16, "docs.digitalocean.com, Spaces keys", exact=True),
    Prefixed("Cloudflare", "cfk_", ALNUM, 40, "developers.cloudflare.com, token formats"),
    Prefixed("Cloudflare", "cfut_", ALNUM, 40, "developers.cloudflare.com, token formats"),
    Prefixed("Cloudflare", "cfat_", ALNUM, 40, "developers.cloudflare.com, token formats"),
    Prefixed("Cloudflare", "v1.0-", DASHED, 60, "developers.cloudflare.com, Origin CA keys"),
    Prefixed("Akamai", "akab-", URL_SAFE, 30, "techdocs.akamai.com, credentials"),
    Prefixed("Yandex Cloud", "AQVN", URL_SAFE, 30, "yandex.cloud, API keys"),
    Prefixed("Yandex Cloud", "y0_", URL_SAFE, 30, "yandex.cloud, OAuth tokens", random=True),
    Prefixed("Netlify", "nfp_", ALNUM, 30, "docs.netlify.com, access tokens"),
    Prefixed("Vercel", "vcp_", ALNUM, 24, "vercel.com, access tokens"),
    Prefixed("Vercel", "vci_", ALNUM, 24, "vercel.com, integration tokens"),
    Prefixed("Vercel", "vca_", ALNUM, 24, "vercel.com, app tokens"),
    Prefixed("Vercel", "vcr_", ALNUM, 24, "vercel.com, refresh tokens"),
    Prefixed("Vercel", "vercel_blob_rw_", WORD, 20, "vercel.com, Blob tokens"),
    Prefixed("Render", "rnd_", ALNUM, 20, "render.com, API keys"),
    Prefixed("Fly.io", "fo1_", URL_SAFE, 30, "fly.io, access tokens"),
    Prefixed("Fly.io", "fm1_", BASE64 + "_-", 40, "fly.io, access tokens"),
    Prefixed("Fly.io", "fm2_", BASE64 + "_-", 40, "fly.io, access tokens"),
    Prefixed("Heroku", "HRKU-", URL_SAFE, 30, "devcenter.heroku.com, API keys"),
    Prefixed("Supabase", "sbp_", WORD, 32, "supabase.com, access tokens", random=True),
    Prefixed("Supabase", "sb_secret_", URL_SAFE, 20, "supabase.com, API keys"),
    Prefixed("PlanetScale", "pscale_tkn_", URL_SAFE, 24, "planetscale.com, service tokens"),
    Prefixed("PlanetScale", "pscale_pw_", URL_SAFE, 24, "planetscale.com, passwords"),
    Prefixed("PlanetScale", "pscale_oauth_", URL_SAFE, 24, "planetscale.com, OAuth tokens"),
    Prefixed("Neon", "napi_", ALNUM, 32, "neon.tech, API keys"),
    Prefixed("Databricks", "dapi", HEX + "-", 32, "docs.databricks.com, access tokens"),
    Prefixed("Databricks", "dose", HEX, 32, "docs.databricks.com, OAuth secrets"),
    Prefixed("MongoDB Atlas", "mdb_sa_sk_", URL_SAFE, 30, "mongodb.com, service accounts"),
    Prefixed("Elastic", "essu_", URL_BASE64, 40, "elastic.co, API keys"),
    Prefixed("Appwrite", "standard_", HEX, 100, "appwrite.io, API keys"),
    Prefixed("Fauna", "fnA", URL_SAFE, 36, "docs.fauna.com, keys", random=True),
    Prefixed("Xata", "xau_", ALNUM, 30, "xata.io, API keys"),
    Prefixed("Rancher", "kubeconfig-u-", DASHED + ":", 40, "ranchermanager.docs.rancher.com, API tokens"),
    Prefixed("OpenShift", "sha256~", URL_SAFE, 40, "docs.openshift.com, OAuth tokens"),
    Prefixed("Trigger.dev", "tr_prod_", ALNUM, 16, "trigger.dev, API keys"),
    Prefixed("Trigger.dev", "tr_dev_", ALNUM, 16, "trigger.dev, API keys"),
    Prefixed("Inngest", "signkey-", DASHED, 24, "inngest.com, signing keys", random=True),
    Prefixed("Azure", "AccountKey=", BASE64, 40, "learn.microsoft.com, storage connection strings"),
    # Money
    Prefixed("Stripe", "sk_live_", ALNUM, 10, "docs.stripe.com, API keys"),
    Prefixed("Stripe", "sk_test_", ALNUM, 10, "docs.stripe.com, API keys"),
    Prefixed("Stripe", "rk_live_", ALNUM, 10, "docs.stripe.com, restricted keys"),
    Prefixed("Stripe", "rk_test_", ALNUM, 10, "docs.stripe.com, restricted keys"),
    Prefixed("Stripe", "whsec_", BASE64, 24, "docs.stripe.com, webhook secrets"),
    Prefixed("Square", "sq0atp-", URL_SAFE, 20, "developer.squareup.com, access tokens"),
    Prefixed("Square", "sq0csp-", URL_SAFE, 20, "developer.squareup.com, application secrets"),
    Prefixed("Square", "EAAAE", URL_SAFE, 40, "developer.squareup.com, access tokens", random=True),
    Prefixed("PayPal", "access_token$production$", ALNUM + "$", 30, "developer.paypal.com, access tokens"),
    Prefixed("Braintree", "access_token$sandbox$", ALNUM + "$", 30, "developer.paypal.com, access tokens"),
    Prefixed("Adyen", "AQE", BASE64, 60, "docs.adyen.com, API credentials", random=True),
    Prefixed("Plaid", "access-production-", DASHED, 30, "plaid.com, access tokens"),
    Prefixed("Plaid", "access-sandbox-", DASHED, 30, "plaid.com, access tokens"),
    Prefixed("Plaid", "access-development-", DASHED, 30, "plaid.com, access tokens"),
    Prefixed("Razorpay", "rzp_live_", ALNUM, 12, "razorpay.com, API keys"),
    Prefixed("Razorpay", "rzp_test_", ALNUM, 12, "razorpay.com, API keys"),
    Prefixed("Flutterwave", "FLWSECK-", DASHED, 20, "developer.flutterwave.com, API keys"),
    Prefixed("Flutterwave", "FLWSECK_TEST-", DASHED, 20, "developer.flutterwave.com, API keys"),
    Prefixed("Mollie", "live_", ALNUM, 28, "docs.mollie.com, API keys", random=True),
    Prefixed("Mollie", "test_", ALNUM, 28, "docs.mollie.com, API keys", random=True),
    Prefixed("Shippo", "shippo_live_", HEX, 32, "docs.goshippo.com, API tokens"),
    Prefixed("Shippo", "shippo_test_", HEX, 32, "docs.goshippo.com, API tokens"),
    Prefixed("Duffel", "duffel_live_", URL_SAFE, 30, "duffel.com, access tokens"),
    Prefixed("Duffel", "duffel_test_", URL_SAFE, 30, "duffel.com, access tokens"),
    Prefixed("EasyPost", "EZAK", ALNUM, 40, "docs.easypost.com, API keys"),
    Prefixed("EasyPost", "EZTK", ALNUM, 40, "docs.easypost.com, API keys"),
    Prefixed("Shopify", "shpat_", HEX, 24, "shopify.dev, access tokens"),
    Prefixed("Shopify", "shpca_", HEX, 24, "shopify.dev, access tokens"),
    Prefixed("Shopify", "shppa_", HEX, 24, "shopify.dev, access tokens"),
    Prefixed("Shopify", "shpss_", HEX, 24, "shopify.dev, shared secrets"),
    Prefixed("Shopify", "shptka_", HEX, 24, "shopify.dev, partner tokens"),
    # Messages and mail
    *(
        Prefixed("Slack", f"xox{kind}-", DASHED, 10, "api.slack.com, token types")
        for kind in ("a", "b", "e", "o", "p", "r", "s")
    ),
    Prefixed("Slack", "xoxe.xox", DASHED + "%", 20, "api.slack.com, token rotation"),
    Prefixed("Slack", "xapp-", DASHED, 10, "api.slack.com, app-level tokens"),
    Prefixed("Slack", "xwfp-", DASHED, 16, "api.slack.com, workflow tokens"),
    Prefixed("SendGrid", "SG.", DOTTED, 30, "docs.sendgrid.com, API keys", random=True),
    Prefixed("Mailgun", "key-", HEX, 32, "documentation.mailgun.com, API keys"),
    Prefixed("Brevo", "xkeysib-", DASHED, 40, "developers.brevo.com, API keys"),
    Prefixed("Brevo", "xsmtpsib-", DASHED, 40, "developers.brevo.com, SMTP keys"),
    Prefixed("Resend", "re_", WORD, 20, "resend.com, API keys", random=True),
    Prefixed("OneSignal", "os_v2_app_", ALNUM, 40, "documentation.onesignal.com, API keys"),
    Prefixed("OneSignal", "os_v2_org_", ALNUM, 40, "documentation.onesignal.com, API keys"),
    # Watching and measuring
    Prefixed("Sentry", "sntrys_", BASE64 + "_-", 30, "docs.sentry.io, organisation tokens"),
    Prefixed("Sentry", "sntryu_", HEX, 32, "docs.sentry.io, user tokens"),
    Prefixed("Grafana", "glsa_", WORD, 30, "grafana.com, service accounts"),
    Prefixed("Grafana", "glc_", BASE64, 30, "grafana.com, cloud access policies"),
    Prefixed("Grafana", "eyJrIjoi", BASE64, 40, "grafana.com, API keys"),
    Prefixed("New Relic", "NRAK-", ALNUM, 20, "docs.newrelic.com, API keys"),
    Prefixed("New Relic", "NRII-", URL_SAFE, 24, "docs.newrelic.com, insert keys"),
    Prefixed("New Relic", "NRIQ-", URL_SAFE, 24, "docs.newrelic.com, query keys"),
    Prefixed("New Relic", "NRRA-", HEX, 32, "docs.newrelic.com, REST keys"),
    Prefixed("Dynatrace", "dt0c01.", DOTTED, 40, "docs.dynatrace.com, access tokens"),
    Prefixed("Dynatrace", "dt0s16.", DOTTED, 40, "docs.dynatrace.com, platform tokens"),
    Prefixed("Honeycomb", "hcaik_", ALNUM, 32, "docs.honeycomb.io, API keys"),
    Prefixed("Honeycomb", "hcbik_", ALNUM, 32, "docs.honeycomb.io, API keys"),
    Prefixed("PostHog", "phx_", ALNUM, 32, "posthog.com, personal API keys"),
    Prefixed("PostHog", "phs_", ALNUM, 32, "posthog.com, secret keys"),
    Prefixed("LaunchDarkly", "api-", HEX + "-", 36, "docs.launchdarkly.com, access tokens", exact=True),
    Prefixed("LaunchDarkly", "sdk-", HEX + "-", 36, "docs.launchdarkly.com, SDK keys", exact=True),
    # Work
    Prefixed("Notion", "ntn_", ALNUM, 30, "developers.notion.com, integrations"),
    Prefixed("Notion", "secret_", ALNUM, 32, "developers.notion.com, integrations", random=True),
    Prefixed("Linear", "lin_api_", ALNUM, 30, "linear.app, API keys"),
    Prefixed("Linear", "lin_oauth_", HEX, 32, "linear.app, OAuth tokens"),
    Prefixed("Figma", "figd_", URL_SAFE, 24, "figma.com, access tokens"),
    Prefixed("Figma", "figo_", URL_SAFE, 24, "figma.com, OAuth tokens"),
    Prefixed("Figma", "figr_", URL_SAFE, 24, "figma.com, refresh tokens"),
    Prefixed("Postman", "PMAK-", HEX + "-", 32, "learning.postman.com, API keys"),
    Prefixed("Postman", "PMAT-", UPPER, 20, "learning.postman.com, access tokens"),
    Prefixed("HubSpot", "pat-na1-", HEX + "-", 30, "developers.hubspot.com, private apps"),
    Prefixed("HubSpot", "pat-na2-", HEX + "-", 30, "developers.hubspot.com, private apps"),
    Prefixed("HubSpot", "pat-eu1-", HEX + "-", 30, "developers.hubspot.com, private apps"),
    Prefixed("HubSpot", "pat-ap1-", HEX + "-", 30, "developers.hubspot.com, private apps"),
    Prefixed("Contentful", "CFPAT-", URL_SAFE, 24, "contentful.com, access tokens"),
    Prefixed("Typeform", "tfp_", DOTTED + "=", 30, "typeform.com, personal access tokens", random=True),
    Prefixed("Frame.io", "fio-u-", URL_BASE64, 40, "developer.frame.io, tokens"),
    Prefixed("Dropbox", "sl.", URL_SAFE, 60, "developers.dropbox.com, access tokens", random=True),
    Prefixed("Facebook", "EAA", ALNUM, 60, "developers.facebook.com, access tokens", random=True),
    Prefixed("Instagram", "IGQV", URL_SAFE, 60, "developers.facebook.com, access tokens", random=True),
    Prefixed("Twitter", "AAAAAAAAAAAAAAAAAAAAA", ALNUM + "%", 40, "developer.x.com, bearer tokens"),
    Prefixed("Mapbox", "sk.eyJ", DOTTED, 30, "docs.mapbox.com, access tokens"),
    Prefixed("Mapbox", "tk.eyJ", DOTTED, 30, "docs.mapbox.com, access tokens"),
    Prefixed("Octopus Deploy", "API-", UPPER, 25, "octopus.com, API keys", random=True),
    Prefixed("Alchemy", "alcht_", ALNUM, 24, "alchemy.com, authentication tokens"),
    Prefixed("Lob", "live_pub_", HEX, 30, "docs.lob.com, API keys"),
)

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

PATTERNS: tuple[Shaped, ...] = (
    Shaped(
        "Slack",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"([A-Za-z0-9]{6,64}/[A-Za-z0-9]{6,64}/[A-Za-z0-9]{10,128}(?:/[A-Za-z0-9]{6,128})?)",
        "api.slack.com, incoming webhooks",
    ),
    Shaped(
        "Discord",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(\d{10,24}/[A-Za-z0-9_-]{20,128})",
        "discord.com, webhooks",
    ),
    Shaped(
        "Discord",
        ".",
        r"(?<![A-Za-z0-9_.-])([MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,50})(?![A-Za-z0-9_.-])",
        "discord.com, bot tokens",
    ),
    Shaped(
        "Telegram",
        ":A",
        r"(?<![A-Za-z0-9])(?:bot)?(\d{7,12}:A[A-Za-z0-9_-]{32,40})(?![A-Za-z0-9_-])",
        "core.telegram.org, bot tokens",
    ),
    Shaped(
        "Microsoft Teams",
        "webhook.office.com/",
        r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,300})",
        "learn.microsoft.com, incoming webhooks",
    ),
    Shaped(
        "Zapier",
        "hooks.zapier.com/",
        r"hooks\.zapier\.com/hooks/catch/(\d{3,12}/[A-Za-z0-9]{5,64})",
        "zapier.com, webhooks",
    ),
    Shaped(
        "Terraform Cloud",
        ".atlasv1.",
        r"(?<![A-Za-z0-9])([A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_=-]{30,100})",
        "developer.hashicorp.com, API tokens",
    ),
    Shaped(
        "Microsoft Entra",
        "Q~",
        r"(?<![A-Za-z0-9_.~-])([A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{30,40})",
        "learn.microsoft.com, client secrets",
    ),
    Shaped(
        "Azure",
        "sig=",
        r"[?&]sig=([A-Za-z0-9%+/]{40,120}=?)",
        "learn.microsoft.com, shared access signatures",
    ),
    Shaped(
        "AWS",
        "X-Amz-",
        r"X-Amz-(?:Signature|Security-Token)=([A-Za-z0-9%+/=]{40,2000})",
        "docs.aws.amazon.com, presigned addresses",
    ),
    Shaped(
        "Airtable",
        "pat",
        r"(?<![A-Za-z0-9])(pat[A-Za-z0-9]{14}\.[0-9a-f]{48,64})(?![A-Za-z0-9])",
        "airtable.com, personal access tokens",
    ),
    Shaped(
        "Mailchimp",
        "-us",
        r"(?<![A-Za-z0-9])([0-9a-f]{32}-us\d{1,2})(?![A-Za-z0-9])",
        "mailchimp.com, API keys",
    ),
    Shaped(
        "Mailgun",
        "-",
        r"(?<![A-Za-z0-9-])([0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?![A-Za-z0-9-])",
        "documentation.mailgun.com, API keys",
    ),
    Shaped(
        "Twilio",
        "SK",
        r"(?<![A-Za-z0-9])(SK[0-9a-f]{32})(?![A-Za-z0-9])",
        "twilio.com, API keys",
    ),
    Shaped(
        "Asana",
        "/",
        r"(?<![A-Za-z0-9/])([012]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32})(?![A-Za-z0-9])",
        "developers.asana.com, personal access tokens",
    ),
    Shaped(
        "ClickUp",
        "pk_",
        r"(?<![A-Za-z0-9])(pk_\d{5,12}_[A-Z0-9]{30,34})(?![A-Za-z0-9])",
        "clickup.com, API tokens",
    ),
    Shaped(
        "Klaviyo",
        "pk_",
        r"(?<![A-Za-z0-9])(pk_[0-9a-f]{34})(?![A-Za-z0-9])",
        "developers.klaviyo.com, API keys",
    ),
    Shaped(
        "Ghost",
        ":",
        r"(?<![A-Za-z0-9:])([0-9a-f]{24}:[0-9a-f]{64})(?![A-Za-z0-9])",
        "ghost.org, Admin API keys",
    ),
    Shaped(
        "Harness",
        "at.",
        r"(?<![A-Za-z0-9])([ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20})(?![A-Za-z0-9])",
        "developer.harness.io, API keys",
    ),
    Shaped(
        "New Relic",
        "NRAL",
        r"(?<![A-Za-z0-9])([0-9a-f]{32,36}[0-9A-Fa-f]{0,8}NRAL)(?![A-Za-z0-9])",
        "docs.newrelic.com, licence keys",
    ),
    Shaped(
        "RapidAPI",
        "msh",
        r"(?<![A-Za-z0-9])([0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{5}jsn[0-9a-f]{12})(?![A-Za-z0-9])",
        "docs.rapidapi.com, keys",
    ),
    Shaped(
        "MaxMind",
        "_mmk",
        r"(?<![A-Za-z0-9])([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?![A-Za-z0-9])",
        "dev.maxmind.com, licence keys",
    ),
    Shaped(
        "Rancher",
        "token-",
        r"(?<![A-Za-z0-9])(token-[a-z0-9]{5}:[a-z0-9]{54})(?![A-Za-z0-9])",
        "ranchermanager.docs.rancher.com, API keys",
    ),
    Shaped(
        "Salesforce",
        "00D",
        r"(?<![A-Za-z0-9])(00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,120})(?![A-Za-z0-9])",
        "developer.salesforce.com, session ids",
    ),
    Shaped(
        "Ably",
        ".",
        r"(?<![A-Za-z0-9_.-])([A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:[A-Za-z0-9_-]{40,60})(?![A-Za-z0-9_-])",
        "ably.com, API keys",
    ),
    Shaped(
        "1Password",
        "A3-",
        r"(?<![A-Za-z0-9])(A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3})(?![A-Za-z0-9])",
        "support.1password.com, secret keys",
    ),
    Shaped(
        "Bitwarden",
        "0.",
        rf"(?<![A-Za-z0-9.])(0\.{_UUID}\.[A-Za-z0-9]{{30}}:[A-Za-z0-9+/=]{{22,24}})",
        "bitwarden.com, access tokens",
    ),
    Shaped(
        "Azure",
        "+A",
        r"(?<![A-Za-z0-9+/])([A-Za-z0-9+/]{74,84}\+A(?:St|MC|RmA?|Ba)[A-Za-z0-9+/]{4,8}={0,2})(?![A-Za-z0-9+/=])",
        "learn.microsoft.com, identifiable keys",
    ),
    Shaped(
        "Azure DevOps",
        "AZDO",
        r"(?<![A-Za-z0-9])([A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])",
        "learn.microsoft.com, personal access tokens",
    ),
    Shaped(
        "Private keys in Base64",
        "LS0tLS1CRUdJTi",
        r"(?<![A-Za-z0-9+/])(LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVE|BFTkNSWVBURUQgUFJJVkFUR)"
        r"[A-Za-z0-9+/=]{20,})",
        "kubernetes.io, kubeconfig files",
    ),
    Shaped(
        "WordPress",
        "pplication ",
        r"[Aa]pplication [Pp]assword[^\n]{0,20}?[ :=\"'`]"
        r"((?:[A-Za-z0-9]{4} ){5}[A-Za-z0-9]{4})(?![A-Za-z0-9])",
        "developer.wordpress.org, application passwords",
    ),
)

NEARBY: tuple[Nearby, ...] = (
    Nearby("AWS", ("aws", "amazon", "s3"), r"[A-Za-z0-9+/]{40}", "docs.aws.amazon.com, secret access keys"),
    Nearby("Datadog", ("datadog",), r"[0-9a-f]{32}|[0-9a-f]{40}", "docs.datadoghq.com, API and app keys"),
    Nearby("Cloudflare", ("cloudflare",), r"[A-Za-z0-9_-]{40}|[0-9a-f]{37}", "developers.cloudflare.com"),
    Nearby("Twilio", ("twilio",), r"[0-9a-f]{32}", "twilio.com, auth tokens"),
    Nearby("Algolia", ("algolia",), r"[0-9a-f]{32}", "algolia.com, API keys"),
    Nearby("Heroku", ("heroku",), _UUID, "devcenter.heroku.com, API keys"),
    Nearby("Railway", ("railway",), _UUID, "docs.railway.com, tokens"),
    Nearby("Postmark", ("postmark",), _UUID, "postmarkapp.com, server tokens"),
    Nearby("Exa", ("exa ", "exa_", "exa's"), _UUID, "docs.exa.ai, API keys"),
    Nearby("Snyk", ("snyk",), _UUID, "docs.snyk.io, API tokens"),
    Nearby("Okta", ("okta",), r"00[A-Za-z0-9_-]{40}", "developer.okta.com, API tokens"),
    Nearby("Cohere", ("cohere",), r"[A-Za-z0-9]{40}", "docs.cohere.com, API keys"),
    Nearby("Mistral", ("mistral",), r"[A-Za-z0-9]{32}", "docs.mistral.ai, API keys"),
    Nearby("Together", ("together",), r"[0-9a-f]{64}", "docs.together.ai, API keys"),
    Nearby("Weights & Biases", ("wandb", "weights & biases"), r"[0-9a-f]{40}", "docs.wandb.ai, API keys"),
    Nearby("Deepgram", ("deepgram",), r"[0-9a-f]{40}", "developers.deepgram.com, API keys"),
    Nearby("AssemblyAI", ("assemblyai", "assembly ai"), r"[0-9a-f]{32}", "assemblyai.com, API keys"),
    Nearby("Hetzner", ("hetzner", "hcloud"), r"[A-Za-z0-9]{64}", "docs.hetzner.com, API tokens"),
    Nearby("Linode", ("linode",), r"[0-9a-f]{64}", "techdocs.akamai.com, Linode tokens"),
    Nearby("Vultr", ("vultr",), r"[A-Z0-9]{36}", "vultr.com, API keys"),
    Nearby("Fastly", ("fastly",), r"[A-Za-z0-9_-]{32}", "fastly.com, API tokens"),
    Nearby("Vercel", ("vercel",), r"[A-Za-z0-9]{24}", "vercel.com, access tokens"),
    Nearby("Azure DevOps", ("devops",), r"[a-z2-7]{52}", "learn.microsoft.com, access tokens"),
    Nearby("Azure", ("azure",), r"[0-9a-f]{32}|[A-Za-z0-9+/]{86}==", "learn.microsoft.com, service keys"),
    Nearby("Gitea", ("gitea", "forgejo", "codeberg"), r"[0-9a-f]{40}", "docs.gitea.com, access tokens"),
    Nearby("Jenkins", ("jenkins",), r"11[0-9a-f]{32}", "jenkins.io, API tokens"),
    Nearby("Todoist", ("todoist",), r"[0-9a-f]{40}", "developer.todoist.com, API tokens"),
    Nearby(
        "Trello", ("trello",), r"[0-9a-f]{32}|[0-9a-f]{64}|ATTA[A-Za-z0-9]{70,76}", "developer.atlassian.com"
    ),
    Nearby(
        "PagerDuty", ("pagerduty",), r"u\+[A-Za-z0-9_-]{18}|[A-Za-z0-9_+-]{20}", "developer.pagerduty.com"
    ),
    Nearby("Opsgenie", ("opsgenie",), _UUID, "docs.opsgenie.com, API keys"),
    Nearby("DeepL", ("deepl",), rf"{_UUID}(?::fx)?", "developers.deepl.com, authentication"),
    Nearby("Spotify", ("spotify",), r"[0-9a-f]{32}", "developer.spotify.com, client secrets"),
    Nearby("OpenWeather", ("openweather",), r"[0-9a-f]{32}", "openweathermap.org, API keys"),
    Nearby("Infura", ("infura",), r"[0-9a-f]{32}", "docs.infura.io, API keys"),
    Nearby("Etherscan", ("etherscan",), r"[A-Z0-9]{34}", "docs.etherscan.io, API keys"),
    Nearby(
        "Ethereum", ("wallet", "ethereum", "private key"), r"(?:0x)?[0-9a-fA-F]{64}", "ethereum.org, accounts"
    ),
    Nearby("ngrok", ("ngrok",), r"[A-Za-z0-9]{20,30}_[A-Za-z0-9]{18,24}", "ngrok.com, authtokens"),
    Nearby("Travis CI", ("travis",), r"[A-Za-z0-9_-]{22}", "docs.travis-ci.com, API tokens"),
    Nearby("Auth0", ("auth0",), r"[A-Za-z0-9_-]{64}", "auth0.com, client secrets"),
    Nearby(
        "Intercom", ("intercom",), r"[A-Za-z0-9+/_-]{55,70}={0,2}", "developers.intercom.com, access tokens"
    ),
    Nearby("Zendesk", ("zendesk",), r"[A-Za-z0-9]{40}", "developer.zendesk.com, API tokens"),
    Nearby("Mixpanel", ("mixpanel",), r"[0-9a-f]{32}|[A-Za-z0-9]{32}", "developer.mixpanel.com, secrets"),
    Nearby("Cloudinary", ("cloudinary",), r"[A-Za-z0-9_-]{27}", "cloudinary.com, API secrets"),
    Nearby("Codecov", ("codecov",), _UUID, "docs.codecov.com, upload tokens"),
    Nearby("Honeycomb", ("honeycomb",), r"[A-Za-z0-9]{22}|[0-9a-f]{32}", "docs.honeycomb.io, API keys"),
    Nearby("ElevenLabs", ("elevenlabs", "eleven labs"), r"[0-9a-f]{32}", "elevenlabs.io, API keys"),
    Nearby("Consul", ("consul", "nomad"), _UUID, "developer.hashicorp.com, ACL tokens"),
    Nearby("Vault", ("vault",), r"s\.[A-Za-z0-9]{24}", "developer.hashicorp.com, tokens before 1.10"),
)
