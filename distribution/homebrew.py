"""Writes the Homebrew formula of a release: `homebrew.py dist/prunecli-VERSION.tar.gz URL`.

A formula for a tap: it installs the release and what it needs into an environment of its own, as pip resolves it.
"""

import hashlib
import re
import sys
from pathlib import Path

FORMULA = """\
class Prunecli < Formula
  desc "Coding agent for the terminal whose context you can see, prune and restore"
  homepage "{homepage}"
  url "{url}"
  sha256 "{digest}"
  license "MIT"

  depends_on "python@3.13"
  depends_on "ripgrep"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "--no-cache-dir", "#{{buildpath}}[all]"
    bin.install_symlink libexec/"bin/prunecli"
    man1.install_symlink libexec/"share/man/man1/prunecli.1"
    bash_completion.install_symlink libexec/"share/bash-completion/completions/prunecli"
    zsh_completion.install_symlink libexec/"share/zsh/site-functions/_prunecli"
    fish_completion.install_symlink libexec/"share/fish/vendor_completions.d/prunecli.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/prunecli --version")
    system bin/"prunecli", "-p", "hi", "--model", "demo", "--no-session"
  end
end
"""


def formula(release: Path, url: str) -> str:
    """Return the formula of a source distribution that can be fetched at `url`. Raises ValueError and OSError."""
    if not re.fullmatch(r"https://[\w./+%~-]+\.tar\.gz", url):
        raise ValueError(f"{url}: expected an https address of a .tar.gz")
    digest = hashlib.sha256(release.read_bytes()).hexdigest()
    homepage = re.match(r"https://[^/]+(/[\w.-]+/[\w.-]+(?=/releases/))?", url)
    return FORMULA.format(url=url, digest=digest, homepage=homepage[0] if homepage else url)


if __name__ == "__main__":
    sys.stdout.write(formula(Path(sys.argv[1]), sys.argv[2]))
