"""Tells by their names which paths usually contain credentials.

All readers share this policy: permissions ask before such a file is read, and searches leave it out. The search
process imports this module too, so it imports only fast modules. `re` compiles the patterns at first use, because
every start imports them and few need them.
"""

import re
import unicodedata

_SECRET_FOLDERS = frozenset(
    {".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", ".secrets", "keychains", "keyrings"}
)
_NAMES = r"""(?x)
    [.\#]*(
      \.env.* | .*\.env(\.(local|prod|production|dev|development|staging|test))?
    | .*\.(pem|key|p8|p12|pfx|pkcs12|jks|keystore|keytab|kdbx?|ppk|ovpn|tfvars|tfstate)
    | \.?id_(rsa|dsa|ecdsa|ed25519).* | [._]netrc
    | \.(pgpass|npmrc|pypirc|curlrc|wgetrc|databrickscfg|git-credentials|vault-token|boto|s3cfg)
    | \.(my(login)?\.cnf|dockerc(fg|onfigjson))
    | \.?htpasswd | \.?vault[-_]pass(word)?(\.txt)? | (.*[-_.])?kubeconfig(\.ya?ml)?
    | \.\w+_history | fish_history | \.viminfo | \.lesshst
    | (.*[-_.])?credentials(\.(json|toml|ya?ml|ini|xml|db|csv|txt|properties|tfrc\.json))?
    | (.*[-_.])?secrets?\.(json|toml|ya?ml|ini|txt|properties|xml|conf|cfg)
    | service[-_]?account.*\.json | client_secrets?.*\.json
    | oauth_creds\.json | \.claude\.json | wallet\.dat | \.smbcredentials
    )(\.(bak|backup|old|orig|save|swp|swo|tmp) | ~ | \#)*"""
"""The names, including those of copies that editors make."""
_NOT_NAMES = r"\.env.*\.(example|sample|template|dist)"
AT_HOME = (
    *(".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", ".oci", ".fly", ".terraform.d"),
    *(".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/op", ".config/doctl"),
    *(".config/git/credentials", ".config/rclone", ".config/sops", ".config/heroku", ".config/stripe"),
    *(".config/netlify", ".config/github-copilot", ".config/containers", ".config/age", ".config/solana"),
    *(".docker/config.json", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties"),
    *(".pip/pip.conf", ".config/pip/pip.conf", ".config/pypoetry/auth.toml", ".config/composer/auth.json"),
    *(".nuget/nuget/nuget.config", ".config/nuget/nuget.config", ".subversion/auth", ".composer/auth.json"),
    *(".codex/auth.json", ".pi/agent/auth.json", ".local/share/opencode/auth.json"),
    *(".huggingface/token", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".cache/keyring"),
    *(".local/share/keyrings", ".local/share/kwalletd", ".kde/share/apps/kwallet", ".config/configstore"),
    *(".xauthority", ".iceauthority", ".mbsyncrc", ".msmtprc", ".fetchmailrc", ".offlineimaprc"),
    *("library/keychains", "library/cookies", "library/safari", "library/mail", "library/messages"),
    *("library/application support/google/chrome", "library/application support/firefox"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/bravesoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium"),
    *(".cache/mozilla", ".cache/thunderbird", ".cache/google-chrome", ".cache/chromium", ".cache/evolution"),
    *(".cache/bravesoftware", ".cache/microsoft-edge", ".cache/vivaldi", ".cache/opera"),
)
"""Paths of credentials, browsers and mail, in lower case, usually below a home folder. The sandbox hides the same."""
_PATHS = (
    r"""(?x)
    /proc/[^/]+(/task/[^/]+)?/(environ|mem|auxv|cmdline|fd|fdinfo)(/.*)? | /proc/kcore | /dev/k?mem
    | /etc/(g?shadow-?|sudoers|ssl/private)(/.*)? | /private/etc/(master\.passwd|sudoers)
    | .*/("""
    + "|".join(map(re.escape, AT_HOME))
    + r""")(/.*)?"""
)


def looks_secret(path: str) -> bool:
    """Return whether the path looks like one where credentials are kept, ignoring case."""
    parts = [folded(part) for part in path.split("/") if part]
    if not parts:
        return False
    if not _SECRET_FOLDERS.isdisjoint(parts):
        return True
    if re.fullmatch(_NAMES, parts[-1]) and not re.fullmatch(_NOT_NAMES, parts[-1]):
        return True
    return bool(re.fullmatch(_PATHS, "/" + "/".join(parts)))


def folded(component: str) -> str:
    """Return a name as the most forgiving file system compares it: no case, no invisible characters, no trailing
    dots."""
    if component.isascii():
        text = component.lower()
    else:
        visible = "".join(part for part in component if unicodedata.category(part) != "Cf")
        text = unicodedata.normalize("NFC", visible.casefold())
    return text.rstrip(". ") or text


_HINT = (
    r"(?i)env|\.pem|\.key|\.p8|\.p12|\.pfx|\.jks|\.kdb|\.ppk|id_|credential|htpasswd|vault|secret|account|password"
    r"|pkcs12|keytab|ovpn|tfvars|tfstate|kube|keychains|keyrings|netrc|fish_history|wallet|oauth_creds|shadow|sudoers"
    r"|/etc/ssl/private|/proc/|/dev/k?mem|keystore|library/|snap/|(?:^|/)[#]*\."
)


def may_look_secret(path: str) -> bool:
    """Return whether a path may look secret: a fast check for long lists, False only if `looks_secret` is False."""
    return not path.isascii() or re.search(_HINT, path) is not None
