"""The shapes of secrets: prefixes, lengths and alphabets that their issuers document.

A row has a name, a pattern, and texts of which every match contains at least one. Searching for these texts first
makes long sessions fast to search.
"""

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
    ("password in an address", r"(?<=://)[^\s/:@'\"<>]{1,64}:[^\s/@'\"<>]{3,128}(?=@[\w.-])", ("://",)),
    (
        "authorization",
        r"(?i:(?<=authorization: bearer )|(?<=authorization: basic )|(?<=authorization: "
        r"token ))[\w.~+/=-]{8,}",
        ("uthorization",),
    ),
    (
        "secret",
        r"(?m)(?:(?<=SECRET=)|(?<=TOKEN=)|(?<=PASSWORD=)|(?<=PASSWD=)|(?<=API_KEY=)|(?<="
        r"APIKEY=)|(?<=ACCESS_KEY=)|(?<=SECRET_KEY=)|(?<=PRIVATE_KEY=)|(?<=AUTH_KEY=)|(?"
        r"<=CREDENTIALS=))(?!\[redacted)(?:\"[^\"\n$]{6,}\"|'[^'\n$]{6,}'|[^\s\"'$`(){}<"
        r">;|&]{6,})",
        ("=",),
    ),
    (
        "AWS secret",
        r"(?i:(?<=aws_secret_access_key = )|(?<=aws_secret_access_key=)|(?<=aws_session_"
        r"token = ))[A-Za-z0-9/+=]{40,}",
        ("aws_", "AWS_"),
    ),
)
