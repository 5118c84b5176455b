"""Tells by their names which paths usually contain credentials.

All readers share this policy: permissions ask before such a file is read, and searches leave it out. The search
process imports this module too, so it imports only fast modules.
"""

import re
import unicodedata

_SECRET_FOLDERS = frozenset(
    {".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", ".secrets", "keychains", "keyrings"}
)
_SECRET_NAMES = re.compile(
    r"""[.\#]*(
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
    )(\.(bak|backup|old|orig|save|swp|swo|tmp) | ~ | \#)*""",
    re.VERBOSE,
)
"""The names, including those of copies that editors make."""
_NOT_SECRET = re.compile(r"\.env.*\.(example|sample|template|dist)")
_SECRET_PATHS = re.compile(
    r"""/proc/[^/]+(/task/[^/]+)?/(environ|mem|auxv|cmdline|fd|fdinfo)(/.*)? | /proc/kcore | /dev/k?mem
    | /etc/(g?shadow-?|sudoers|ssl/private)(/.*)? | /private/etc/(master\.passwd|sudoers)
    | .*/\.docker/config\.json | .*/\.m2/settings\.xml | .*/\.(config/)?pip/pip\.conf | .*/\.subversion/auth/.*
    | .*/\.config/(gcloud|gh|glab-cli|hub|op|doctl|rclone|sops|heroku|stripe|netlify|github-copilot)(/.*)?""",
    re.VERBOSE,
)


def looks_secret(path: str) -> bool:
    """Return whether the path looks like one where credentials are kept, ignoring case."""
    parts = [folded(part) for part in path.split("/") if part]
    if not parts:
        return False
    if not _SECRET_FOLDERS.isdisjoint(parts):
        return True
    if _SECRET_NAMES.fullmatch(parts[-1]) and not _NOT_SECRET.fullmatch(parts[-1]):
        return True
    return bool(_SECRET_PATHS.fullmatch("/" + "/".join(parts)))


def folded(component: str) -> str:
    """Return a name as the most forgiving file system compares it: no case, no invisible characters, no trailing
    dots."""
    if component.isascii():
        text = component.lower()
    else:
        visible = "".join(part for part in component if unicodedata.category(part) != "Cf")
        text = unicodedata.normalize("NFC", visible.casefold())
    return text.rstrip(". ") or text


_HINT = re.compile(
    r"env|\.pem|\.key|\.p8|\.p12|\.pfx|\.jks|\.kdb|\.ppk|id_|netrc|pgpass|npmrc|pypirc|credential|htpasswd|vault|cnf"
    r"|boto|s3cfg|docker|history|secret|account|\.ssh|\.aws|gnupg|azure|kube|password|keychains|gcloud|/gh|/hub|/op"
    r"|pkcs12|keytab|ovpn|tfvars|tfstate|viminfo|lesshst|keyrings|shadow|sudoers|curlrc|wgetrc|databricks|\.m2/|pip\.conf|subversion|\.config/|/etc/ssl/private|/proc/|/dev/k?mem",
    re.IGNORECASE,
)


def may_look_secret(path: str) -> bool:
    """Return whether a path may look secret: a fast check for long lists, False only if `looks_secret` is False."""
    return not path.isascii() or _HINT.search(path) is not None
