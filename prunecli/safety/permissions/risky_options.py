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
_LETTERS = """\
python, python3, bash, sh, zsh, dash, ksh, fish, jest, vitest: c; node, deno, bun, tsx, ts-node: epr
ruby, lua: eErnl; perl: eErnMmd; php: BEFRrd; gcc, g++, cc, c++, clang, clang++: oB
gdb, lldb, psql, mysql, sqlite3: ceoSsfx; rsync: oFSe; vim, vi, nvim: ceoSsuUwW; emacs: flx; ssh: oFEI
scp, sftp: oFSD; git: cOx; git clone: cu; tar: IFP; curl: oOKTDc; wget: OoPeia; make, gmake: fE; ninja: f
gradle, gradlew: I; man: PHC; less: oO; fd: xX; zip: T; unzip: d; pytest, py.test: cop; npx: cp; eslint: cfo
prettier: w; tree, strace: o; tcpdump: zw; xxd: r; env: S; docker: v; osascript: e; sort: oT; sed: if"""
_SHORT = {
    program: letters.strip()
    for row in re.split("[;\n]", _LETTERS)
    for programs, _, letters in [row.partition(":")]
    for program in map(str.strip, programs.split(","))
}
"""Letters of short options that execute something or write to a named file."""
_FIRST = r"^(?:-\S+ (?:[^\s-]\S* )?)*"
"""The options before a subcommand."""
_NAMES = r"""
gh glab hub: auth|api|alias|ext|extensions?|secret|ssh-key|gpg-key|config|cs|codespace|variable|token|copilot
aws: configure|sts|secretsmanager|sso|iam create|ssm (?:get|start)-\S*|[\w-]+ (?:decrypt|generate-\S+
    |get-\S*(?:login|token|credentials?|password|secret|authorization)\S*)
gcloud: (?:(?:alpha|beta|preview) )?(?:auth|secrets|config|compute (?:ssh|scp|config-ssh)|\S.* (?:get-credentials
    |generate-login-token|keys create|ssh))
az: account get-access-token|keyvault|login|ad sp|ssh|\S.*(?:keys? |credentials?|expose-token)
kubectl oc: exec|cp|config|debug|plugin|edit|attach|rsh|login|extract|whoami|create token|proxy|run|port-forward
    |(?:get|describe)\b.*\bsecrets?
helm: get|plugin|registry
docker podman: (?:(?:container|image|builder|buildx|service|stack|pod|machine|system) )?(?:run|exec|cp|create
    |login|commit|build|bake|compose|config|plugin|context|secret|deploy|kube|unshare|ssh)
npm pnpm yarn bun: exec|x|dlx|create|init|innit|config|c|get|set|token|login|adduser|publish|profile|pack|explore
    |edit|pkg (?:set|delete)
cargo: login|publish|owner|yank
go: env .*-w|generate|tool
pip pip3: config|download|wheel
uv poetry: publish|config|auth|self
terraform tofu: console|output|show|state|login
pulumi: config|console|login|stack
heroku fly flyctl vercel netlify railway: config|auth|env|secrets?|variables|ssh|run|tokens?|console|pull
    |\w+:(?:credentials|exec|psql|console)
vault op pass security: \w+
ansible-vault: view|decrypt|edit
redis-cli: .*\b(?:eval|config|module|script|function|shutdown|acl|migrate|replicaof|slaveof|debug)
sqlite3~ (?:^|\s)\.(?!(?:tables?|schema|headers?|mode|index(?:es)?|databases|dump|show|help|version)\b)[a-z]
    |(?:file|extension|edit|fsdir)\b|\battach\b|\bvacuum\b|--(?:extract|create|insert|update)
psql~ \\(?:!|o|copy|i|g|w|e|s)|\b(?:program|copy|pg_read\w*|lo_\w*)\b
mysql mariadb~ \\[!TP.]|\b(?:system|source|(?:out|dump|in)file|load_file|tee|pager)\b
cmake ctest~ (?:^|\s)-[PECS]\b|--install|(?:COMPILER|LAUNCHER|PROGRAM|COMMAND|INCLUDE|FILE)\w*(?::\w+)?=
gpg~ secret|(?:^|\s)-\w*d|--decrypt|--exec|-program
openssl~ ^(?:enc|pkey|rsa|dsa|ec|pkcs\d+|engine|gen\w+|s_\w+)\b|(?:^|\s)-(?:out|engine|provider)
vim vi nvim view less more most~ (?:^|\s)\+
python python3~ (?:^|\s)-\w*m ?(?:pip|ensurepip|timeit|pdb|code|http\.server)\b
deno: eval|repl
mvn mvnw~ \bexec:|-Dexec\.
curl~ %output\{|--variable[ =]%
env xargs timeout nice nohup stdbuf setsid time watch parallel sudo doas strace~ (?:^|\s)(?![.\d]+[smhd]?(?:\s|$)
    |\w+=)[^-\s]
"""
"""Programs and a pattern of words: after `:` those where a subcommand may stand, after `~` anywhere."""
_TO_NAME = {
    program: _FIRST + rf"(?:{pattern})\b" if anchored == ":" else pattern
    for programs, anchored, pattern in re.findall(
        r"(?m)^([\w -]+?)([:~]) (.*)$", re.sub(r"\n {4}", "", _NAMES)
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
