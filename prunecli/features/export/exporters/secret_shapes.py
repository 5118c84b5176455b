"""The shapes of secrets: prefixes, lengths and alphabets that their issuers document.

A row has a name, a pattern, and hint texts. Each match contains at least one hint, so searching for the hints first
makes long sessions fast to search.
"""

import re

SHAPES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "private key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0"
        r"-9 ]*-----|\Z)",
        ("PRIVATE KEY",),
    ),
    ("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{20,}", ("sk-ant-",)),
    ("OpenRouter key", r"sk-or-(?:v1-)?[A-Za-z0-9_-]{20,}", ("sk-or-",)),
    (
        "OpenAI key",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{20,}|sess-[A-"
        r"Za-z0-9]{40}",
        ("sk-", "sess-"),
    ),
    (
        "AWS key id",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}\b",
        ("AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA"),
    ),
    (
        "GitHub token",
        r"\bgh[pousr]_[A-Za-z0-9]{36,255}|\bgithub_pat_[A-Za-z0-9_]{40,255}",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    ("GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|imt|agent|soat|ft|ffct|oas)-[A-Za-z0-9_.-]{20,}", ("gl",)),
    (
        "Slack token",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}|\bxoxe\.xox[bp]-["
        r"A-Za-z0-9-]{10,}",
        ("xox", "xapp-"),
    ),
    (
        "webhook",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{30,}|https://(?"
        r":\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]{30,}",
        ("https://",),
    ),
    (
        "Stripe key",
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}",
        ("_live_", "_test_", "whsec_"),
    ),
    (
        "Google key",
        r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{28}",
        ("AIza", "ya29.", "GOCSPX-"),
    ),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}", ("npm_",)),
    ("PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,}", ("pypi-",)),
    ("Hugging Face token", r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}", ("hf_", "api_org_")),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", ("SG.",)),
    ("Twilio key", r"\b(?:SK|AC)[0-9a-f]{32}\b", ("SK", "AC")),
    ("Mailgun key", r"\bkey-[0-9a-f]{32}\b", ("key-",)),
    ("Mailchimp key", r"\b[0-9a-f]{32}-us\d{1,2}\b", ("-us",)),
    ("DigitalOcean token", r"\bdo[opr]_v1_[0-9a-f]{64}", ("_v1_",)),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", ("shp",)),
    ("Square token", r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}|\bEAAA[A-Za-z0-9_-]{60}", ("sq0", "EAAA")),
    ("Facebook token", r"\bEAA[A-Za-z0-9]{60,}", ("EAA",)),
    ("Telegram token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}", (":AA",)),
    ("Discord token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", (".",)),
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", ("eyJ",)),
    ("Databricks token", r"\bdapi[0-9a-f]{32}(?:-\d)?\b", ("dapi",)),
    ("Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}", ("hvs.", "hvb.", "hvr.")),
    ("Doppler token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}", ("dp.",)),
    ("Grafana token", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,}", ("glsa_", "glc_")),
    ("Sentry token", r"\bsntr(?:ys|yu)_[A-Za-z0-9+/=_]{40,}", ("sntr",)),
    ("Linear key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}", ("lin_",)),
    ("Notion token", r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})", ("ntn_", "secret_")),
    (
        "Atlassian token",
        r"\bATATT3[A-Za-z0-9_=-]{60,}|\bATCTT3[A-Za-z0-9_=-]{60,}|\bATBB[A-Za-z0-9]{28,}",
        ("AT",),
    ),
    ("Figma token", r"\bfig[duo]r?_[A-Za-z0-9_-]{40,}", ("fig",)),
    ("Airtable token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}", ("pat",)),
    ("Docker token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}", ("dckr_",)),
    ("Fly.io token", r"\bfm[12][ra]?_[A-Za-z0-9+/=_,-]{60,}|\bfo1_[A-Za-z0-9_-]{40,}", ("fm", "fo1_")),
    ("PlanetScale token", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}", ("pscale_",)),
    ("Tailscale key", r"\btskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}", ("tskey-",)),
    ("Terraform token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", (".atlasv1.",)),
    ("RubyGems key", r"\brubygems_[0-9a-f]{48}", ("rubygems_",)),
    ("crates.io token", r"\bcio[A-Za-z0-9]{32}\b", ("cio",)),
    ("New Relic key", r"\bNR(?:AK|JS|II|AA|RA|IQ)-[A-Za-z0-9_-]{20,}|\b[0-9a-f]{36}NRAL\b", ("NR",)),
    ("Postman key", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}", ("PMAK-",)),
    ("Groq key", r"\bgsk_[A-Za-z0-9]{40,}", ("gsk_",)),
    ("xAI key", r"\bxai-[A-Za-z0-9]{60,}", ("xai-",)),
    ("Replicate token", r"\br8_[A-Za-z0-9]{36,}", ("r8_",)),
    ("Perplexity key", r"\bpplx-[A-Za-z0-9]{40,}", ("pplx-",)),
    ("Fireworks key", r"\bfw_[A-Za-z0-9]{22,}\b", ("fw_",)),
    ("Supabase key", r"\bsb[ps]_[0-9a-f]{40}\b|\bsb_(?:secret|publishable)_[A-Za-z0-9_-]{20,}", ("sb",)),
    ("Netlify token", r"\bnf[pcobu]_[A-Za-z0-9_-]{36,}", ("nf",)),
    ("age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}", ("AGE-SECRET-KEY-",)),
    ("1Password token", r"\bops_eyJ[A-Za-z0-9_=-]{100,}", ("ops_",)),
    ("Dropbox token", r"\bsl\.[A-Za-z0-9_-]{60,}", ("sl.",)),
    ("Typeform token", r"\btfp_[A-Za-z0-9_.=-]{40,}", ("tfp_",)),
    ("Pulumi token", r"\bpul-[0-9a-f]{40}", ("pul-",)),
    ("Heroku key", r"\bHRKU-[A-Za-z0-9_-]{36,}", ("HRKU-",)),
    ("Brevo key", r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", ("xkeysib-",)),
    ("Adafruit key", r"\baio_[A-Za-z0-9]{28}\b", ("aio_",)),
    (
        "Azure key",
        r"(?<=AccountKey=)[A-Za-z0-9+/]{40,}={0,2}|(?<=SharedAccessKey=)[A-Za-z0-9+/]{40"
        r",}={0,2}",
        ("AccountKey=", "SharedAccessKey="),
    ),
    ("LangSmith key", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", ("lsv2_",)),
    ("Pinecone key", r"\bpcsk_[A-Za-z0-9_]{40,}", ("pcsk_",)),
    ("NVIDIA key", r"\bnvapi-[A-Za-z0-9_-]{40,}", ("nvapi-",)),
    ("Together key", r"\btgp_v1_[A-Za-z0-9_-]{30,}", ("tgp_v1_",)),
    (
        "Cloudflare token",
        r"\bcf[au]t_[A-Za-z0-9_-]{30,}|\bv1\.0-[0-9a-f]{24}-[0-9a-f]{100,}",
        ("cf", "v1.0-"),
    ),
    ("Vercel token", r"\bvc[pkiar]_[A-Za-z0-9]{24,}|\bvercel_blob_rw_\w{30,}", ("vc", "vercel_")),
    ("Render key", r"\brnd_[A-Za-z0-9]{24,}", ("rnd_",)),
    ("CircleCI token", r"\bCCIP(?:AT|RJ)_[A-Za-z0-9_]{30,}", ("CCIP",)),
    ("Buildkite token", r"\bbk(?:ua|ct|a)_[A-Za-z0-9]{32,}", ("bk",)),
    ("SonarQube token", r"\bsq[pua]_[0-9a-f]{40}", ("sq",)),
    ("NuGet key", r"\boy2[a-z0-9]{43}\b", ("oy2",)),
    ("Alibaba key id", r"\bLTAI[A-Za-z0-9]{17,26}\b", ("LTAI",)),
    ("Tencent key id", r"\bAKID[A-Za-z0-9]{32}\b", ("AKID",)),
    ("Mapbox token", r"\b[sp]k\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}", ("k.eyJ",)),
    ("Plaid token", r"\baccess-(?:production|sandbox|development)-[0-9a-f-]{36}", ("access-",)),
    ("Razorpay key", r"\brzp_(?:live|test)_[A-Za-z0-9]{14,}", ("rzp_",)),
    ("PayPal token", r"\baccess_token\$(?:production|sandbox)\$\w+\$[0-9a-f]{32}", ("access_token$",)),
    ("Contentful token", r"\bCFPAT-[A-Za-z0-9_-]{40,}", ("CFPAT-",)),
    ("HubSpot token", r"\bpat-(?:na|eu|ap)\d-[0-9a-f-]{36}", ("pat-",)),
    ("Prefect key", r"\bpn[ub]_[A-Za-z0-9]{36}", ("pn",)),
    ("Clojars token", r"\bCLOJARS_[A-Za-z0-9]{60}", ("CLOJARS_",)),
    ("EasyPost key", r"\bEZ[AT]K[A-Za-z0-9]{54}", ("EZ",)),
    ("Flutterwave key", r"\bFLW(?:SECK|PUBK)(?:_TEST)?-[A-Za-z0-9]{32}-X", ("FLW",)),
    ("Azure secret", r"\b[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", ("Q~",)),
    ("Twitter token", r"\bA{20,}[A-Za-z0-9%]{60,}", ("AAAAAAAAAAAAAAAAAAAA",)),
    ("Slack cookie", r"\bxox[cd]-[A-Za-z0-9%-]{10,}", ("xox",)),
    ("Salesforce token", r"\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}", ("00D",)),
    ("Dynatrace token", r"\bdt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", ("dt0",)),
    ("Discord bot token", r"\bmfa\.[A-Za-z0-9_-]{80,}", ("mfa.",)),
    (
        "password hash",
        r"\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|apr1\$[^$\s]{1,8}\$[./A-Za-z0-9]{22})",
        ("$2", "$apr1$"),
    ),
)

# Secrets without a shape of their own ------------------------------------------------------------------------

_NAME = (
    r"[\w.-]{0,60}?(?:secret|token|passw(?:or)?d|passphrase|\bpwd|_pwd|_pass|\bpass|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|auth[_-]?key|account[_-]?key|shared[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|session[_-]?key"
    r"|secret[_-]?key|subscription[_-]?key|app[_-]?key|credentials?|_auth|\bauth|connection[_-]?string|webhook[_-]?url"
    r"|signature|\bsig)(?:[_-]?(?:id|value|key|base64|hash|prod|production|live|test|dev|staging|v?\d+))?"
)
"""Names whose values are secrets."""
_NO_VALUE = (
    r"(?!(?:string|number|boolean|integer|object|undefined|required|optional|disabled|enabled|null|none|true|false"
    r"|unknown|changeme|example|default|process|os\.|env\.|self\.|config\.|settings\.|this\.|args\.)|\[redacted|\*{3})"
)
"""Type names and code that may appear in place of a value."""
_QUOTED = r"\"(?!\[redacted)(?:[^\"\\\n]|\\.){4,4000}\"|'(?!\[redacted)[^'\n]{4,4000}'|`[^`\n$\[]{4,4000}`"
_WORD = r"[a-z]{1,15}[,.:;!?]?"
_NO_TOKEN = (
    r"(?![\"']?(?:(?!secret|pass|pwd)[\w.-]){0,60}?tokens?[\"']?\s*(?:=>|:=|=|:)\s*(?P<quote>[\"'`])(?!bearer|basic)"
    rf"(?:\s*(?:{_WORD}\s+)+(?:{_WORD})?|[<\[][|/]?{_WORD}[|/]?[>\]])(?P=quote))"
)
"""Not plain words with a space, nor a word in brackets, as tokenizers have them, under the name of a token."""
_BARE = r"[^\s\"'$`(){}<>\[\],;|&]"

VALUES: tuple[tuple[str, str], ...] = (
    (
        "authorization",
        r"(?i)(?P<kept>authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|digest|apikey|negotiate)?\s*)"
        rf"(?!\[redacted){_BARE}{{8,2000}}",
    ),
    (
        "cookie",
        r"(?im)(?P<kept>\b(?:set-)?cookie[\"']?\s*:\s*[\"']?)(?!\[redacted)[^\s\"'=]{1,100}=[^\n\"']{6,}",
    ),
    (
        "secret",
        rf"(?i)(?<![\w.-]){_NO_TOKEN}(?P<kept>[\"']?{_NAME}[\"']?\s*(?:=>|:=|=|:)\s*)(?:{_QUOTED}|"
        rf"{_NO_VALUE}(?=[^\s\"']{{0,100}}\d){_BARE}{{6,500}}(?![(\[\w]))",
    ),
    (
        "secret",
        rf"(?P<kept>\b[A-Z0-9_]*(?:SECRET|TOKEN|PASSWORD|PASSWD|_PASS|_PWD|KEY|CREDENTIALS)=){_NO_VALUE}{_BARE}{{6,500}}",
    ),
    (
        "secret",
        rf"(?im)(?P<kept>^[ \t]*(?:- )?[\"']?{_NAME}[\"']?:[ \t]+){_NO_VALUE}{_BARE}{{6,500}}(?=[ \t]*(?:#.*)?$)",
    ),
    (
        "secret",
        rf"(?im)(?P<kept>(?:^|(?<=\s))--?{_NAME}[= ][ \t]*){_NO_VALUE}(?:{_QUOTED}|(?!-){_BARE}{{6,500}})",
    ),
    ("secret", rf"(?i)(?P<kept><({_NAME})>\s*)[^<\s][^<]{{3,}}(?=</\2>)"),
    (
        "password",
        r"(?im)(?P<kept>(?:\blogin[ \t]+\S{1,200}\s{1,9}|^[ \t]*)password[ \t]+)(?!\[redacted)\S{4,500}[ \t]*$",
    ),
    ("password", r"(?P<kept>\s(?:-u|--user|--proxy-user)[= ]?[\"']?[\w.@-]{1,200}:)[^\s\"']{4,500}"),
    ("password", r"(?m)(?P<kept>^[\w.*-]{1,200}:(?:\d+|\*):[^:\s]{1,100}:[^:\s]{1,100}:)[^:\s]{4,500}$"),
    ("password in an address", r"(?P<kept>://[^\s/:@'\"<>]{0,64}:)[^\s/@'\"<>]{3,128}(?=@[\w.\[-])"),
    ("token in an address", r"(?P<kept>://)[A-Za-z0-9_-]{16,}(?=@[\w.-])"),
    (
        "token in an address",
        r"(?i)(?P<kept>[?&#;](?:[\w-]{0,40}(?:token|secret|password|signature|api[_-]?key|credential)|key|sig|auth|pwd|code)=)"
        r"(?!\[redacted)[^\s&#\"'<>]{6,2000}",
    ),
)
"""(name, pattern) for secrets recognized only by their name or place. The group `kept` is the text before the
secret."""
VALUE_HINTS = re.compile(
    r"secret|token|pass|pwd|key|credential|auth|cookie|connection|webhook|sig|://|login|-u |--user|:\*:|:\d+:",
    re.IGNORECASE,
)
"""A quick test: only texts that match this can match one of `VALUES`."""
