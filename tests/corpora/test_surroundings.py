"""What lies around a file says under which licence it stands."""

import json
import shutil

import pytest
from identify.vendor.licenses import LICENSES

from assay.corpora import CorpusSettings, Entry, describes_neighbours, open_sources
from assay.corpora.folders import Folder
from assay.corpora.surroundings import Surroundings

TEXTS = {name: text.encode() for name, text in LICENSES}
METADATA = (
    b"Metadata-Version: 2.4\nName: thing\nAuthor-email: Ann Other <ann@example.org>\nLicense-Expression: 0BSD\n"
    b"Project-URL: Source, https://example.org/thing\n\nProse\n"
)


def around(**files):
    found = Surroundings()
    for path, raw in files.items():
        found.notice(path, raw)
    return found


@pytest.mark.parametrize(
    "name",
    [
        *("LICENSE", "LICENCE.txt", "COPYING", "COPYING.LESSER", "LICENSE-MIT", "a/UNLICENSE", "license.md"),
        *("x/METADATA", "setup.cfg", "setup.py", "README", "README.md", "LICENSES/MIT.txt", "REUSE.toml"),
    ],
)
def test_these_tell_of_others(name):
    assert describes_neighbours(name)


@pytest.mark.parametrize(
    "name", ["license.py", "licenses.json", "README.py", "MIT.txt", "LICENSE.html", "sublicensed", "a/license/b.c"]
)
def test_these_do_not(name):
    assert not describes_neighbours(name)


def test_the_nearest_licence_up_the_tree_holds():
    found = around(**{"LICENSE": TEXTS["MIT"], "vendor/LICENSE": TEXTS["MPL-2.0"]})
    assert found.facts_of("a/b/c.py").nearest == "MIT"
    assert found.facts_of("vendor/deep/c.py").nearest == "MPL-2.0"
    assert found.facts_of("vendored/c.py").nearest == "MIT"


def test_a_licence_that_nobody_can_name_does_not_hide_the_one_above():
    """A collection of notices says less than the folder that it lies in."""
    found = around(**{"LICENSE": TEXTS["MIT"], "vendor/LICENSE": b"Ask Bob."})
    assert found.facts_of("vendor/c.py").nearest == "MIT"


@pytest.mark.parametrize(
    ("name", "raw", "licence"),
    [
        ("pyproject.toml", b'[project]\nlicense = "Apache-2.0 OR MIT"\n', "Apache-2.0 OR MIT"),
        ("pyproject.toml", b'[project]\nlicense = {text = "BSD"}\n', "BSD-3-Clause"),
        ("Cargo.toml", b'[package]\nlicense = "MIT/Apache-2.0"\n', "MIT OR Apache-2.0"),
        ("package.json", json.dumps({"license": "ISC"}).encode(), "ISC"),
        ("package.json", json.dumps({"license": ["MIT", "0BSD"]}).encode(), "0BSD OR MIT"),
        ("package.json", json.dumps({"licenses": [{"type": "MIT"}, {"type": "0BSD"}]}).encode(), "0BSD OR MIT"),
        ("pyproject.toml", b'[project]\nclassifiers = ["License :: OSI Approved :: MIT License"]\n', "MIT"),
        ("pyproject.toml", b'[tool.poetry]\nlicense = "MIT"\n', "MIT"),
        ("setup.cfg", b"[metadata]\nlicense = GPLv3+\n", "GPL-3.0-or-later"),
        (
            "setup.cfg",
            b"[metadata]\nlicense = see file\nclassifiers =\n  Topic :: X\n  License :: OSI Approved :: MIT License\n",
            "MIT",
        ),
        ("setup.py", b"from setuptools import setup\nsetup(name='x', license='BSD')\n", "BSD-3-Clause"),
        (
            "setup.py",
            b"import setuptools\nsetuptools.setup(classifiers=['License :: OSI Approved :: ISC License (ISCL)'])\n",
            "ISC",
        ),
        ("setup.py", b"setup(license=read('LICENSE'))\n", None),
        ("setup.py", b"setup(\n", None),
        ("setup.cfg", b"license = MIT\n", None),
        (
            "REUSE.toml",
            b'version = 1\n[[annotations]]\npath = "**"\nSPDX-License-Identifier = "GPL-3.0-or-later"\n',
            "GPL-3.0-or-later",
        ),
        ("LICENSES/GPL-2.0-only.txt", b"text", "GPL-2.0-only"),
        ("README.md", b"# x\n\n## License\n\nMIT\n", "MIT"),
        ("pyproject.toml", b"[project\n", None),
        ("package.json", b"[" * 100_000, None),
        ("package.json", b'{"license": 3}', None),
    ],
)
def test_project_files_state_a_licence_and_broken_ones_nothing(name, raw, licence):
    assert around(**{name: raw}).facts_of("a.py").nearest == licence


def test_a_stated_field_outranks_a_text_and_a_text_a_loose_field():
    loose = b"Name: thing\nClassifier: License :: OSI Approved :: BSD License\n"
    assert (
        around(**{"LICENSE": TEXTS["MIT"], "pyproject.toml": b'[project]\nlicense="0BSD"'}).facts_of("a").nearest
        == "0BSD"
    )
    assert around(**{"LICENSE": TEXTS["BSD-2-Clause"], "PKG-INFO": loose}).facts_of("a").nearest == "BSD-2-Clause"
    assert around(**{"PKG-INFO": loose}).facts_of("a").nearest == "BSD-3-Clause"


def test_installed_files_belong_to_the_distribution_that_lists_them():
    record = b"thing/__init__.py,sha256=x,3\nthing.py,,\n../../bin/run,,\nthing-1.dist-info/METADATA,,\n"
    found = around(**{"thing-1.dist-info/METADATA": METADATA, "thing-1.dist-info/RECORD": record})
    facts = found.facts_of("thing/__init__.py")
    assert (facts.nearest, facts.author, facts.url) == ("0BSD", "Ann Other", "https://example.org/thing")
    assert found.facts_of("other/__init__.py").nearest is None


@pytest.mark.parametrize(
    ("home", "repository"),
    [
        ("https://github.com/owner/thing/", "https://github.com/owner/thing/"),
        ("https://owner.example.org/thing", None),
        ("https://github.com/owner", None),
    ],
)
@pytest.mark.parametrize("field", ["Home-page: {}", "Home-page: UNKNOWN\nProject-URL: Homepage, {}"])
def test_a_home_page_that_is_a_repository_is_the_repository(home, repository, field):
    stated = b"Metadata-Version: 2.4\nName: thing\n" + field.format(home).encode() + b"\n\nProse\n"
    files = {"thing-1.dist-info/METADATA": stated, "thing-1.dist-info/RECORD": b"thing/a.py,,\n"}
    facts = around(**files).facts_of("thing/a.py")
    assert (facts.repository, facts.url) == (repository, home)


def test_texts_named_after_their_licences_leave_a_choice():
    both = around(**{"LICENSE-MIT": TEXTS["MIT"], "LICENSE-APACHE": TEXTS["Apache-2.0"]})
    assert both.facts_of("a.rs").nearest == "Apache-2.0 OR MIT"
    third = around(**{"LICENSE-MIT": TEXTS["MIT"], "LICENSE.apache2": TEXTS["Apache-2.0"], "COPYING": TEXTS["ISC"]})
    assert third.facts_of("a.rs").nearest == "(Apache-2.0 OR MIT) AND ISC"
    plain = around(**{"LICENSE": TEXTS["MIT"], "LICENSE.thirdparty": TEXTS["Apache-2.0"]})
    assert plain.facts_of("a.rs").nearest == "MIT AND Apache-2.0"


def test_a_readme_is_asked_last():
    found = around(**{"README.md": b"## License\n\nMIT\n", "setup.py": b"setup(license='ISC')\n"})
    assert found.facts_of("a.py").nearest == "ISC"


def test_the_texts_of_reuse_reach_the_files_beside_their_folder(tmp_path):
    (tmp_path / "LICENSES").mkdir()
    (tmp_path / "LICENSES" / "GPL-3.0-or-later.txt").write_text("text")
    (tmp_path / "a.py").write_text("x = 1\n")
    entries = {entry.path: entry for entry in Folder(tmp_path, "here").files()}
    assert entries["a.py"].facts.nearest == "GPL-3.0-or-later"


NOT_UNDERSTOOD = "unknown"


@pytest.mark.parametrize(
    ("name", "text", "licence"),
    [
        (
            "pom.xml",
            "<licenses><license><name>GNU Lesser General Public License, Version 2.1</name></license></licenses>",
            "LGPL-2.1-only",
        ),
        (
            "pom.xml",
            "<licenses><license><url>https://www.gnu.org/licenses/agpl-3.0.txt</url></license></licenses>",
            "AGPL-3.0-only",
        ),
        ("pom.xml", "<!-- Licensed under the Apache License, Version 2.0 -->\n<project></project>", "Apache-2.0"),
        (
            "pom.xml",
            "<licenses><license><name>CDDL + GPLv2 with classpath exception</name></license></licenses>",
            "CDDL-1.0 OR GPL-2.0-only WITH Classpath-exception-2.0",
        ),
        (
            "pom.xml",
            "<licenses><license><name>Dual</name><url>https://oss.oracle.com/licenses/CDDL+GPL-1.1</url></license></licenses>",
            "CDDL-1.1 OR GPL-2.0-only WITH Classpath-exception-2.0",
        ),
        (
            "pom.xml",
            "<licenses><license><name>Modified MIT</name><url>https://opensource.org/licenses/MIT</url></license></licenses>",
            NOT_UNDERSTOOD,
        ),
        (
            "package.xml",
            "<package><license>BSD</license><license>LGPLv2.1</license></package>",
            "BSD-3-Clause AND LGPL-2.1-only",
        ),
        (
            "package.xml",
            '<license uri="http://www.php.net/license/3_01.txt">PHP</license><changelog><license>GPL</license></changelog>',
            "PHP-3.01",
        ),
        ("package.xml", "<license>TODO</license><license>MIT</license>", NOT_UNDERSTOOD),
        ("build.gradle", 'ext.l = "Eclipse Public License - v 1.0"\nlicense {\n name project.l\n}\n', "EPL-1.0"),
        (
            "project.clj",
            '(defproject a "1" :license {:name "Eclipse Public License" :url "http://www.eclipse.org/legal/epl-v10.html"})',
            "EPL-1.0",
        ),
        ("build.sbt", 'licenses += "Mine" -> url("https://www.gnu.org/licenses/agpl-3.0.txt")', "AGPL-3.0-only"),
        ("a.cabal", "license:\n    BSD3\nlicense-file:\n    LICENSE\n", "BSD-3-Clause"),
        ("DESCRIPTION", "Package: a\nLicense: GPL-2 |\n    GPL-3\n", "GPL-2.0-only OR GPL-3.0-only"),
        ("setup.py", "arguments = dict(name='a', license='GPLv3+')\nsetup(**arguments)\n", "GPL-3.0-or-later"),
        (
            "setup.py",
            "setup(name='a', license='Under the MIT license. See LICENSE file for details')\n",
            "MIT",
        ),
        ("meson.build", "project('a', license : ['MIT', 'GPL-2.0'])\n", "MIT AND GPL-2.0-only"),
        ("a.gemspec", "Gem::Specification.new do |s|\n  s.licenses = ['MIT', 'GPL-2.0']\nend\n", "GPL-2.0-only OR MIT"),
        (
            "a.csproj",
            "<Project><PackageLicenseExpression>LGPL-3.0-or-later</PackageLicenseExpression></Project>",
            "LGPL-3.0-or-later",
        ),
        ("composer.json", '{"name": "a/b", "license": "GPL-2.0+"}', "GPL-2.0-or-later"),
        ("composer.json", '{"license": "proprietary"}', "LicenseRef-scancode-proprietary-license"),
        ("DESCRIPTION", "Package: a\nLicense: GPL (>= 2)\n", "GPL-2.0-or-later"),
        ("DESCRIPTION", "Package: a\nLicense: GPL-2 | GPL-3\n", "GPL-2.0-only OR GPL-3.0-only"),
        ("package.json", '{"license": "UNLICENSED"}', "LicenseRef-scancode-proprietary-license"),
        ("package.json", '{"license": "Acme Terms"}', NOT_UNDERSTOOD),
        ("setup.py", 'setup(license="GPL v3 or later")', "GPL-3.0-or-later"),
        ("Cargo.toml", '[package]\nlicense = "LGPLv2+"\n', "LGPL-2.0-or-later"),
        ("README.md", "# a\n\n- License: [MIT License](http://opensource.org/licenses/MIT)\n", "MIT"),
        ("README.md", "[![License](https://img.shields.io/badge/License-AGPLv3-blue.svg)](x)\n", "AGPL-3.0-only"),
    ],
)
def test_manifests_of_many_kinds_state_the_licence_of_their_folder(name, text, licence):
    surroundings = Surroundings()
    surroundings.notice(f"pkg/{name}", text.encode())
    assert surroundings.facts_of("pkg/src/a.py").nearest == licence


def test_debian_copyright_is_about_the_folder_around_it():
    surroundings = Surroundings()
    text = "Format: x\n\nFiles: *\nLicense: GPL-2+\n\nFiles: debian/*\nLicense: Expat\n"
    surroundings.notice("a/debian/copyright", text.encode())
    assert surroundings.facts_of("a/b.c").nearest == "GPL-2.0-or-later"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Cargo.toml", '[package]\nname = "r"\nlicense-file = "terms/GPL.txt"\n'),
        ("package.json", '{"name": "o", "license": "SEE LICENSE IN terms/GPL.txt"}'),
        ("pyproject.toml", '[project]\nlicense = {file = "terms/GPL.txt"}\n'),
        ("DESCRIPTION", "Package: a\nLicense: file terms/GPL.txt\n"),
    ],
)
def test_a_manifest_names_the_file_with_its_licence(tmp_path, name, text):
    (tmp_path / "terms").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "terms" / "GPL.txt").write_text("This is under the GNU General Public License, version 3 or later.\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    (source,) = open_sources([tmp_path], CorpusSettings())
    entries = {entry.path: entry for entry in source.files() if isinstance(entry, Entry)}
    assert entries["a.py"].facts.nearest == "GPL-3.0-or-later"
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path)
    (source,) = open_sources([archive], CorpusSettings())
    entries = {entry.path: entry for entry in source.files() if isinstance(entry, Entry)}
    assert entries["a.py"].facts.nearest == "GPL-3.0-or-later"


def test_a_manifest_names_its_package():
    surroundings = Surroundings()
    content = {"name": "@a/b", "version": "1.0.0", "author": {"name": "Ada"}, "repository": "github:a/b"}
    surroundings.notice("b/package.json", json.dumps(content).encode())
    facts = surroundings.facts_of("b/index.js")
    assert (facts.purl, facts.author, facts.url) == ("pkg:npm/%40a/b@1.0.0", "Ada", "https://github.com/a/b")
