"""Files that are not UTF-8: read as text, edited in their own bytes, or refused."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from prunecli.tools.asking import Inquiry, Reply
from tests.tools.calling import Caller

JAPANESE = "# 設定の説明\r\nこのプログラムはファイルを読み込んで内容を表示します。\r\nname = x\r\n"
RUSSIAN = "# Настройка\r\nЭта программа читает файлы и показывает их содержимое.\r\nname = x\r\n"
LONG = {
    "gbk": "# 配置说明\r\n本程序用于读取文件并显示内容。请在使用之前阅读本文档。\r\nname = x\r\n",
    "big5": "# 設定說明\r\n本程式用於讀取檔案並顯示內容。請在使用之前閱讀本文件。\r\nname = x\r\n",
    "shift_jis": JAPANESE,
    "euc_jp": JAPANESE,
    "iso2022_jp": JAPANESE,
    "euc_kr": "# 설정 설명\r\n이 프로그램은 파일을 읽어 내용을 표시합니다.\r\nname = x\r\n",
    "cp1251": RUSSIAN,
    "koi8_r": RUSSIAN,
    "cp1253": "# Ρυθμίσεις\r\nΑυτό το πρόγραμμα διαβάζει αρχεία και εμφανίζει το περιεχόμενο.\r\nname = x\r\n",
    "cp1252": "# Einstellungen\r\nDieses Programm liest “schöne” Dateien für 10€ – für alle.\r\nname = x\r\n",
    "iso8859_2": "# Ustawienia\r\nTen program czyta pliki i wyświetla ich zawartość, żółć gęślą.\r\nname = x\r\n",
    "utf-16": JAPANESE,
    "utf-16-le": RUSSIAN,
    "utf-32": JAPANESE,
    "utf-32-be": RUSSIAN,
}
SHORT = {
    "gbk": "配置=中文说明\nname=x\n",
    "euc_kr": "설정=한국어\nname=x\n",
    "big5": "設定=中文\nname=x\n",
    "euc_jp": "設定=日本語\nname=x\n",
    "shift_jis": "設定=日本語\nname=x\n",
    "cp1251": "настройка=русский\nname=x\n",
    "koi8_r": "настройка=русский\nname=x\n",
    "cp1252": "café “quoted” 10€\nname=x\n",
    "iso8859_2": "zażółć gęślą\nname=x\n",
}
MARKED = ("utf-16", "utf-32")
NATIVE = {
    "gbk": "中文",
    "big5": "中文",
    "euc_kr": "한국어",
    "cp1253": "Κείμενο",
    "cp1252": "é",
    "iso8859_2": "żółć",
}


@dataclass
class Person:
    """Answers each question with `reply`."""

    reply: Reply | None = Reply(chosen=(0,))
    asked: list[str] = field(default_factory=list)

    async def ask(self, inquiry: Inquiry) -> Reply | None:
        self.asked.append(inquiry.question)
        return self.reply


def native(codec: str, text: str) -> str:
    return NATIVE.get(codec) or ("Русский" if text == RUSSIAN else "日本語")


@pytest.mark.parametrize("codec", SHORT)
async def test_even_a_short_text_is_readable(tools: Caller, workspace: Path, codec: str) -> None:
    (workspace / "f").write_bytes(SHORT[codec].encode(codec))
    text = await tools.text("read", path="f")
    assert text.startswith(SHORT[codec])
    assert "[the file " in text


@pytest.mark.parametrize("codec", LONG)
async def test_an_edit_keeps_every_other_byte_and_puts_in_what_is_certain(
    tools: Caller, workspace: Path, codec: str
) -> None:
    file, text = workspace / "f.txt", LONG[codec]
    file.write_bytes(text.encode(codec))
    assert text.replace("\r\n", "\n") in (await tools.text("read", path="f.txt")).replace("\r\n", "\n")
    await tools.text("edit", path="f.txt", old_string="name = x", new_string="name = y\nz = 1")
    changed = text.replace("name = x", "name = y\r\nz = 1")
    assert file.read_bytes() == changed.encode(codec)
    new, person = native(codec, text), Person(reply=None)
    given = {"path": "f.txt", "old_string": "name = y", "new_string": f"name = {new}"}
    written = changed.replace("name = y", f"name = {new}").encode(codec)
    if codec not in MARKED:
        assert "nobody is there to confirm it" in await tools.error("edit", **given)
        assert "did not confirm it" in await tools.with_(ask=Person(Reply((1,))).ask).error("edit", **given)
        assert file.read_bytes() == changed.encode(codec)
        person.reply = Reply((0,))
    asking = tools.with_(ask=person.ask)
    await asking.text("edit", **given)
    assert file.read_bytes() == written
    await asking.text("edit", path="f.txt", old_string="z = 1", new_string=f"z = {new}")
    changed = changed.replace("name = y", f"name = {new}").replace("z = 1", f"z = {new}")
    assert file.read_bytes() == changed.encode(codec)
    assert len(person.asked) == (codec not in MARKED), "once for a file and session"


@pytest.mark.parametrize("codec", [codec for codec in LONG if codec not in MARKED])
@pytest.mark.parametrize("declared", ["editorconfig", "gitattributes"])
async def test_a_folder_declares_the_encoding_of_its_files(
    tools: Caller, workspace: Path, codec: str, declared: str
) -> None:
    attribute, charset = f"*.txt working-tree-encoding={codec}", f"[*.txt]\ncharset = {codec}\n"
    (workspace / f".{declared}").write_text(charset if declared == "editorconfig" else attribute)
    file, text = workspace / "f.txt", LONG[codec]
    file.write_bytes(text.encode(codec))
    new = native(codec, text)
    await tools.text("edit", path="f.txt", old_string="name = x", new_string=f"name = {new}")
    assert file.read_bytes() == text.replace("name = x", f"name = {new}").encode(codec)
    if "-" not in codec:
        await tools.text("write", path="new.txt", content=text)
        assert (workspace / "new.txt").read_bytes() == text.encode(codec)


async def test_the_question_names_the_letters_and_shows_how_the_file_would_read(
    tools: Caller, workspace: Path
) -> None:
    (workspace / "notes.txt").write_bytes("# notes\nprix à Nîmes\nz\n".encode("cp1252"))
    person = Person()
    asking = tools.with_(ask=person.ask)
    assert "0 matches" in await asking.error("edit", path="notes.txt", old_string="y", new_string="é")
    await asking.text("edit", path="notes.txt", old_string="z", new_string="é et ü")
    assert person.asked == [
        "latin-1 was guessed for notes.txt. Write é ü as latin-1?\nThe file then reads: prix à Nîmes"
    ]


@pytest.mark.parametrize(
    ("name", "content", "codec"),
    [
        ("a.py", "# -*- coding: cp1252 -*-\nx = 'é'\n", "cp1252"),
        ("a.py", "#!/usr/bin/python\n# coding=gbk\nx = '中文'\n", "gbk"),
        ("a.el", ";; -*- coding: koi8-r -*-\n; Привет\n", "koi8_r"),
        ("a.xml", '<?xml version="1.0" encoding="shift_jis"?>\n<a>日本語</a>\n', "shift_jis"),
        ("a.md", "# Encoding: gbk\n中文\n", "utf-8"),
        ("a.py", "# coding: utf-8\nx = 'é'\n", "utf-8"),
    ],
)
async def test_a_new_file_has_the_encoding_that_its_text_declares(
    tools: Caller, workspace: Path, name: str, content: str, codec: str
) -> None:
    await tools.text("write", path=name, content=content)
    assert (workspace / name).read_bytes() == content.encode(codec)
    if codec != "utf-8":
        (workspace / name).unlink()
        assert "has no" in await tools.error("write", path=name, content=content + "🙂")
        assert not (workspace / name).exists()


@pytest.mark.parametrize(
    ("codec", "head"),
    [
        ("gbk", "# -*- coding: gbk -*-\n# 中文\n"),
        ("koi8_r", '<?xml version="1.0" encoding="koi8-r"?>\n<a>Русский</a>\n'),
        ("euc_jp", '<html><meta charset="euc-jp">日本語\n'),
        ("shift_jis", "#!/bin/python\n# vim: set fileencoding=shift_jis :\n"),
    ],
)
async def test_a_declaration_in_the_file_counts(
    tools: Caller, workspace: Path, codec: str, head: str
) -> None:
    (workspace / "f").write_bytes(f"{head}x = 1\n".encode(codec))
    new = {"koi8_r": "Привет", "gbk": "你好"}.get(codec, "日本語")
    await tools.text("edit", path="f", old_string="x = 1", new_string=f"x = {new}")
    assert (workspace / "f").read_bytes() == f"{head}x = {new}\n".encode(codec)
    assert "has no" in await tools.error("edit", path="f", old_string="x =", new_string="🙂")


async def test_a_wrong_declaration_does_not_count(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_bytes("# coding: gbk\né = '日本'\n".encode())  # it is UTF-8
    await tools.text("edit", path="f", old_string="é", new_string="ü")
    assert (workspace / "f").read_text() == "# coding: gbk\nü = '日本'\n"


async def test_write_keeps_the_encoding_or_refuses(tools: Caller, workspace: Path) -> None:
    before = LONG["gbk"].encode("gbk")
    (workspace / "f").write_bytes(before)
    await tools.text("read", path="f")
    text = LONG["gbk"].replace("\r\n", "\n")
    assert "seems to be GBK" in await tools.error("write", path="f", content="名字=新\n")
    assert (workspace / "f").read_bytes() == before
    await tools.text("write", path="f", content=text.replace("name = x", "name = y"))
    assert (workspace / "f").read_bytes() == before.replace(b"name = x", b"name = y")
    (workspace / ".editorconfig").write_text("root = true\n[*]\ncharset = gbk\n")
    await tools.text("write", path="f", content="名字=新\n")
    assert (workspace / "f").read_bytes() == "名字=新\r\n".encode("gbk")


async def test_latin_1_takes_no_euro_sign_that_others_write_differently(
    tools: Caller, workspace: Path
) -> None:
    (workspace / "f").write_bytes("prix à Nîmes\nname=x\n".encode("iso8859_15"))
    assert "has no '€'" in await tools.error("edit", path="f", old_string="name=x", new_string="10€")
    await tools.text("read", path="f")
    assert "has no '€'" in await tools.error("write", path="f", content="10€\n")


async def test_what_is_no_text_stays_binary(tools: Caller, workspace: Path) -> None:
    for number, data in enumerate((b"\1\0\2\0", b"a\0b", bytes(range(256)))):
        (workspace / str(number)).write_bytes(data)
        assert "not text" in await tools.error("read", path=str(number))
