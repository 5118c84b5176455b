"""The options and words with which known programs execute something, write files or print credentials."""

import re

from prunecli.safety.permissions.harmless_commands import Words

_LONG_NAMES = (
    "exec exec-path execute eval command cmd call init-command to-command hook hooks hookspath plugin "
    "plugins loader require import preload pager editor shell script script-shell info-script "
    "new-volume-script program prog pre rsh rsync-path runner launcher wrapper linker toolexec vettool "
    "upload-pack receive-pack open-files-in-pager ext-diff textconv template checkpoint-action "
    "use-compress-program compress-program filter python-executable rulesdir global-?setup makefile "
    "output out outfile out-?file out-?dir output-?dir output-directory output-document output-?file "
    "write save dump dump-header in-place log-?file report-?file report-?log junit-?xml target-dir "
    "prefix directory-prefix basetemp pastebin remote-name cookie-jar trace-ascii libcurl stderr "
    "ts-?build-?info-?file config config-?file config-env override-ini rcfile init-file userconfig "
    "globalconfig node-options inspect inspect-brk git-dir work-tree unzip-command pre-glob hostname-bin "
    "proxy-command ask-?pass use-askpass remote-name-all save-cookies absolute-names warc-file rejected-log "
    "hsts hsts-file alt-svc kubeconfig split-string"
)
"""Long options that execute something or write to a named file; words may precede them (`--script-shell`)."""
_EXECUTES_OR_WRITES = rf"(?i)--(?:[\w-]*-)?(?:{_LONG_NAMES.replace(' ', '|')})"
_LONG = tuple(_LONG_NAMES.replace("-?", "-").split())
_ABBREVIATES = frozenset({"git", "npm", "tar", "curl", "wget", "make", "gmake", "man", "rsync", "zip", "gdb"})
"""Programs that accept abbreviated long options."""
_SHORT = {
    **dict.fromkeys(("python", "python3", "bash", "sh", "zsh", "dash", "ksh", "fish"), "c"),
    **dict.fromkeys(("node", "deno", "bun", "tsx", "ts-node"), "epr"),
    **dict.fromkeys(("ruby", "lua"), "eErnl"),
    "perl": "eErnMmd",
    "php": "BEFRrd",
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), "oB"),
    **dict.fromkeys(("gdb", "lldb", "psql", "mysql", "sqlite3"), "ceoSsfx"),
    "rsync": "oFSe",
    **dict.fromkeys(("vim", "vi", "nvim"), "ceoSsuUwW"),
    "emacs": "flx",
    "ssh": "oFEI",
    **dict.fromkeys(("scp", "sftp"), "oFSD"),
    "git": "cOx",
    "git clone": "cu",
    "tar": "IFP",
    "curl": "oOKTDc",
    "wget": "OoPeia",
    **dict.fromkeys(("make", "gmake"), "fE"),
    "ninja": "f",
    **dict.fromkeys(("gradle", "gradlew"), "I"),
    "man": "PHC",
    "less": "oO",
    "fd": "xX",
    "zip": "T",
    "unzip": "d",
    "pytest": "cop",
    "py.test": "cop",
    "npx": "cp",
    "eslint": "cfo",
    "prettier": "w",
    "jest": "c",
    "vitest": "c",
    "tree": "o",
    "strace": "o",
    "tcpdump": "zw",
    "xxd": "r",
    "env": "S",
    "docker": "v",
    "osascript": "e",
    "sort": "oT",
    "sed": "if",
    "tee": "",
}
"""Letters of short options that execute something or write to a named file."""
_FIRST = r"^(?:-\S+ (?:[^\s-]\S* )?)*"
"""The options before a subcommand."""
_TO_NAME = {
    program: _FIRST + rf"(?:{pattern})\b" if anchored else pattern
    for programs, anchored, pattern in (
        (
            "gh glab hub",
            True,
            "auth|api|alias|ext|extensions?|secret|ssh-key|gpg-key|config|cs|codespace|variable|token|copilot",
        ),
        (
            "aws",
            True,
            "configure|sts|secretsmanager|sso|iam create|ssm (?:get|start)-\\S*|[\\w-]+ (?:decrypt|generate-\\S+"
            "|get-\\S*(?:login|token|credentials?|password|secret|authorization)\\S*)",
        ),
        (
            "gcloud",
            True,
            "(?:(?:alpha|beta|preview) )?(?:auth|secrets|config|compute (?:ssh|scp|config-ssh)"
            "|\\S.* (?:get-credentials|generate-login-token|keys create|ssh))",
        ),
        (
            "az",
            True,
            "account get-access-token|keyvault|login|ad sp|ssh|\\S.*(?:keys? |credentials?|expose-token)",
        ),
        (
            "kubectl oc",
            True,
            "exec|cp|config|debug|plugin|edit|attach|rsh|login|extract|whoami|create token|proxy|run|port-forward"
            "|(?:get|describe)\\b.*\\bsecrets?",
        ),
        ("helm", True, "get|plugin|registry"),
        (
            "docker podman",
            True,
            "(?:(?:container|image|builder|buildx|service|stack|pod|machine|system) )?(?:run|exec|cp|create|login"
            "|commit|build|bake|compose|config|plugin|context|secret|deploy|kube|unshare|ssh)",
        ),
        (
            "npm pnpm yarn bun",
            True,
            "exec|x|dlx|create|init|innit|config|c|get|set|token|login|adduser|publish|profile|pack|explore|edit"
            "|pkg (?:set|delete)",
        ),
        ("cargo", True, "login|publish|owner|yank"),
        ("go", True, "env .*-w|generate|tool"),
        ("pip pip3", True, "config|download|wheel"),
        ("uv poetry", True, "publish|config|auth|self"),
        ("terraform tofu", True, "console|output|show|state|login"),
        ("pulumi", True, "config|console|login|stack"),
        (
            "heroku fly flyctl vercel netlify railway",
            True,
            "config|auth|env|secrets?|variables|ssh|run|tokens?|console|pull|\\w+:(?:credentials|exec|psql|console)",
        ),
        ("vault op pass security", True, "\\w+"),
        ("ansible-vault", True, "view|decrypt|edit"),
        (
            "redis-cli",
            True,
            ".*\\b(?:eval|config|module|script|function|shutdown|acl|migrate|replicaof|slaveof|debug)",
        ),
        (
            "sqlite3",
            False,
            r"(?:^|\s)\.(?!(?:tables?|schema|headers?|mode|index(?:es)?|databases|dump|show|help|version)\b)[a-z]"
            r"|(?:file|extension|edit|fsdir)\b|\battach\b|\bvacuum\b|--(?:extract|create|insert|update)",
        ),
        ("psql", False, r"\\(?:!|o|copy|i|g|w|e|s)|\b(?:program|copy|pg_read\w*|lo_\w*)\b"),
        (
            "mysql mariadb",
            False,
            r"\\[!TP.]|\b(?:system|source|(?:out|dump|in)file|load_file|tee|pager)\b",
        ),
        (
            "cmake ctest",
            False,
            r"(?:^|\s)-[PECS]\b|--install|(?:COMPILER|LAUNCHER|PROGRAM|COMMAND|INCLUDE|FILE)\w*(?::\w+)?=",
        ),
        ("gpg", False, r"secret|(?:^|\s)-\w*d|--decrypt|--exec|-program"),
        (
            "openssl",
            False,
            r"^(?:enc|pkey|rsa|dsa|ec|pkcs\d+|engine|gen\w+|s_\w+)\b|(?:^|\s)-(?:out|engine|provider)",
        ),
        ("vim vi nvim view less more most", False, r"(?:^|\s)\+"),
        ("python python3", False, r"(?:^|\s)-\w*m ?(?:pip|ensurepip|timeit|pdb|code|http\.server)\b"),
        ("deno", True, "eval|repl"),
        ("mvn mvnw", False, r"\bexec:|-Dexec\."),
        ("curl", False, r"%output\{|--variable[ =]%"),
        (
            "env xargs timeout nice nohup stdbuf setsid time watch parallel sudo doas strace",
            False,
            r"(?:^|\s)(?![.\d]+[smhd]?(?:\s|$)|\w+=)[^-\s]",
        ),
    )
    for program in programs.split()
}
"""The words with which a program runs commands, writes files or prints credentials; a rule covers them if it names
them, as in `bash(gh auth status)`. They include the program that another one starts."""
_ONLY_FIRST = frozenset({"gcc", "g++", "cc", "c++", "clang", "clang++"})
"""Programs that do not accept several option letters in one word."""
_MORE = (
    r"\S.* -(?:exec|toolexec|vettool|wrapper|out|ex|cmd|modfile|overlay|fplugin|specs|outputdir|trace|o|init"
    r"|\w*profile)(?:=.*)?|.*-extld.*|g?make --fi.*|unzip -.*:.*|pip3? --(?:log|python).*"
    r"|node --print(?:=.*)?|fd --exec-batch.*|java -(?:agent|javaagent|XX:On).*|npm --(?:viewer|browser).*"
    r"|sed --fi.*"
    r"|wget (?:--(?:no-[hd]|cut|trust|content-d).*|-n\w*[Hd].*)"
    r"|(?:pytest|py\.test) --(?:pdbcls.*|cov-report(?:=\w+:.*)?)"
)
"""Long options with one dash, and options that mean something else to other programs."""


def unnamed(words: Words, named: Words) -> str:
    """Return why a command needs a rule that names more of its words, or ""."""
    program = words[0].rpartition("/")[2]
    if program not in _TO_NAME:
        return ""
    pattern = re.compile(_TO_NAME[program], re.IGNORECASE)  # only when needed: all of them take 13 ms
    match = pattern.search(" ".join(words[1:]))
    if not match or pattern.search(" ".join(named[1:])):
        return ""
    return f"`{program}` with {match[0].strip()!r} may execute, write or print credentials"


def may_execute_or_write(program: str, option: str) -> bool:
    """Return whether an option of a program is known to execute something or to write to a named file."""
    name = option.partition("=")[0]
    if re.fullmatch(_MORE, f"{program} {option}"):
        return True
    if option.startswith("--"):
        short = program.partition(" ")[0] in _ABBREVIATES and len(name) > 3
        begins = short and any(one.startswith(name[2:].lower()) for one in _LONG)
        return begins or re.fullmatch(_EXECUTES_OR_WRITES, name) is not None
    letters = re.sub(r"[^\w#:].*", "", option[1:], flags=re.DOTALL)  # `ssh -4oProxyCommand=x`
    names = (program, program.partition(" ")[0], program.rstrip("0123456789."))
    listed = next((_SHORT[name] for name in names if name in _SHORT), "")
    given = letters[:1] if program in _ONLY_FIRST else letters
    return not set(listed).isdisjoint(given)
