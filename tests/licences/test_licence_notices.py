"""Licences stated in words: the notice at the head of a file, the section of a README."""

import pytest

from assay.licences import licence_of_file
from assay.licences.notices import NON_COMMERCIAL, PROPRIETARY, licence_notice, licence_of_readme

GNU = (
    "This program is free software: you can redistribute it and/or modify it under the terms of the GNU {kind}General\n"
    "Public License as published by the Free Software Foundation, either version {version} of the License, or\n"
    "(at your option) any later version."
)
BSD = (
    "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided that the "
    "following conditions are met:\n1. Redistributions of source code must retain the above copyright notice"
)
ENDORSE = (
    "\nNeither the name of the author nor the names of its contributors may be used to endorse or promote products."
)
PERL = "Artistic-1.0-Perl OR GPL-1.0-or-later"
DUAL = (
    "Licensed under the Apache License, Version 2.0 <LICENSE-APACHE or\nhttp://www.apache.org/licenses/LICENSE-2.0> or "
    "the MIT license <LICENSE-MIT>, at your\noption. This file may not be copied except according to those terms."
)


def hashes(text):
    return "".join(f"# {line}\n" for line in text.splitlines()) + "\nimport os\n"


def block(text):
    return "/*\n" + "".join(f" * {line}\n" for line in text.splitlines()) + " */\nint main;\n"


def docstring(text):
    return f'#!/usr/bin/env python3\n"""A module.\n\n{text}\n"""\nimport os\n'


def slashes(text):
    return "".join(f"// {line}\n" for line in text.splitlines()) + "package main\n"


@pytest.mark.parametrize("written", [hashes, block, docstring, slashes])
@pytest.mark.parametrize(
    ("notice", "licence"),
    [
        (GNU.format(kind="", version="3"), "GPL-3.0-or-later"),
        (GNU.format(kind="", version="2"), "GPL-2.0-or-later"),
        (GNU.format(kind="Lesser ", version="2.1"), "LGPL-2.1-or-later"),
        (GNU.format(kind="Library ", version="2"), "LGPL-2.0-or-later"),
        (GNU.format(kind="Affero ", version="3"), "AGPL-3.0-or-later"),
        ("under the terms of the GNU General Public License version 2 as\npublished by the FSF.", "GPL-2.0-only"),
        ('Licensed under the Apache License, Version 2.0 (the "License");\nyou may not use this file', "Apache-2.0"),
        ("Permission is hereby granted, free of charge, to any person obtaining a copy\nof this", "MIT"),
        ("Released under the MIT License.", "MIT"),
        (BSD, "BSD-2-Clause"),
        (BSD + ENDORSE, "BSD-3-Clause"),
        ("This Source Code Form is subject to the terms of the Mozilla Public\nLicense, v. 2.0.", "MPL-2.0"),
        (
            "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee",
            "ISC",
        ),
        (DUAL, "Apache-2.0 OR MIT"),
    ],
)
def test_the_standard_notices_are_read_in_every_form_of_comment(written, notice, licence):
    assert licence_notice(written(notice)) == licence


@pytest.mark.parametrize(
    "text",
    [
        "# Use of this source code is governed by a BSD-style\n# license that can be found in the LICENSE file.\n",
        "# permission of the owner is checked here\n",
        "# See docs/LICENSE.txt for license information.\n",
        "# Distributed under the same license as the package.\n",
        "",
    ],
)
def test_references_to_the_licence_of_the_folder_state_none(text):
    assert licence_notice(text) is None


def test_an_exception_of_a_gnu_licence_is_kept():
    notice = GNU.format(kind="", version="2") + '\nAs a special exception, subject to the "Classpath" exception'
    assert licence_notice(hashes(notice)) == "GPL-2.0-or-later WITH Classpath-exception-2.0"


def test_the_notice_of_a_file_outranks_its_repository():
    text = hashes(GNU.format(kind="", version="3"))
    assert licence_of_file(None, text, "MIT") == "GPL-3.0-or-later"
    assert licence_of_file("MIT", text, None) == "MIT AND GPL-3.0-or-later"
    assert licence_of_file(None, f"# SPDX-License-Identifier: MIT\n{text}", None) == "MIT AND GPL-3.0-or-later"
    assert licence_of_file(None, f"# SPDX-License-Identifier: GPL-3.0-only\n{text}", None) == "GPL-3.0-only"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("# Thing\n\n## License\n\nMIT © Somebody\n\n## Thanks\n\nTo the GPL-3.0 people.\n", "MIT"),
        ("Thing\n=====\n\nLicense\n-------\n\nDistributed under the BSD 3-Clause license.\n", "BSD-3-Clause"),
        ("## Licensing\n\nEither of Apache License, Version 2.0 or MIT license at your option.\n", "Apache-2.0 OR MIT"),
        ("## Licence\n\nGPLv3+\n", "GPL-3.0-or-later"),
        ("# Thing\n\nIt reads MIT files.\n", None),
        ("## License\n\nSee the file LICENSE.\n", None),
        ("# Tool\n\n## Copyright\n\nUnder the terms of the MIT license.\n", "MIT"),
        ("Tool\n\nThis program is free software under the same terms as Perl itself.\n\nMore.\n", PERL),
        ("Tool\n\nIt uses Other, which is licensed under the MIT license.\n", None),
        ("<!-- Licensed under the Apache License, Version 2.0 -->\n# Tool\n", "Apache-2.0"),
        ("# Tool\n\n## Meta\n\n[LICENSE (MIT)](./LICENSE)\n", "MIT"),
        ("## License\n\nCode is MIT, weights are under the Acme Model License.\n", "unknown"),
    ],
)
def test_the_licence_section_of_a_readme_is_read(text, licence):
    assert licence_of_readme(text) == licence


@pytest.mark.parametrize(
    "text",
    [
        f'NOTICE = """{GNU.format(kind="", version="3")}"""\n',
        "# See the GNU General Public License for more details.\n",
        "# Permission to use, copy and distribute these words is hereby granted\n",
        "# The contents are subject to the Frobnicator Public License.\n",
        "# Licensed under the Frobnicator Software License.\n",
        "# See frobnicator.c for detailed license information.\n",
        "# NetHack may be freely redistributed. See license for details.\n",
        "# This software is furnished under an open source license and may be used in accordance with its terms.\n",
        "# Licensed under the O'Saasy License Agreement\n",
        "# As long as you keep this notice you can do whatever you want with this stuff.\n",
        "import os\n\nNOTE = 'under the terms of the Mozilla Public License'\n",
    ],
)
def test_a_mention_of_copyleft_and_an_unrecognised_notice_are_unknown_and_not_what_the_folder_says(text):
    assert licence_of_file(None, text, "MIT") == "unknown"
    assert licence_of_file("MIT", text, None) == "unknown"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("import os\n" + hashes(GNU.format(kind="", version="3")), "GPL-3.0-or-later"),
        ("import os\n__license__ = 'GPLv3+'\n", "GPL-3.0-or-later"),
        ('int x;\nMODULE_LICENSE("GPL v2");\n', "GPL-2.0-only"),
        ("import os\n__license__ = 'BSD'\n", "BSD-3-Clause"),
        ("var a = 1;\n/**\n * @license Apache-2.0\n */\n", "Apache-2.0"),
        (
            "use strict;\n1;\n# You may use it under the same terms as Perl itself.\n",
            "Artistic-1.0-Perl OR GPL-1.0-or-later",
        ),
        (
            "setup(classifiers=[\n'License :: OSI Approved :: GNU General Public License v3 (GPLv3)',\n])\n",
            "GPL-3.0-only",
        ),
        ("# under the GNU GPL, version 2\nint x;\nMODULE_LICENSE('GPL');\n", "GPL-2.0-only"),
        ("# under the GNU LGPL, version 2\nint x;\n# under the GNU GPL, version 2\n", "LGPL-2.0-only AND GPL-2.0-only"),
        (f"<p>Title</p>\n<p>\n{GNU.format(kind='', version='3')}\n</p>\n", "GPL-3.0-or-later"),
        (f"..\n   {GNU.format(kind='', version='3')}\n\nTitle\n=====\n", "GPL-3.0-or-later"),
        (f"=head1 NAME\n\n{GNU.format(kind='', version='3')}\n\n=cut\n\nuse strict;\n", "GPL-3.0-or-later"),
        ("import os\nif license == 'GPL' or license(GPL_LICENSE):\n    pass\n", "MIT"),
        ("import os\n\nKEY = ASTERISK_GPL_KEY\n", "MIT"),
    ],
)
def test_a_gnu_licence_counts_wherever_a_file_says_that_it_is_under_it(text, licence):
    assert licence_of_file(None, text, "MIT") == licence


def test_the_notice_of_another_work_applies_beside_that_of_the_file():
    text = "Either the GPL, version 2, or under the CDDL.\nIt incorporates work covered by the following: MIT license"
    assert licence_notice(hashes(text)) == "(CDDL-1.0 OR GPL-2.0-only) AND MIT"


@pytest.mark.parametrize(
    ("notice", "licence"),
    [
        ("Licensed under the GPL.", "GPL-1.0-or-later"),
        ("This file may be redistributed under the terms of the GNU Public License.", "GPL-1.0-or-later"),
        ("License: LGPL", "LGPL-2.0-or-later"),
        ("released under the GNU LGPL (v2.1 or later)", "LGPL-2.1-or-later"),
        ("under the terms of the GNU GPL, version 2. See COPYING.", "GPL-2.0-only"),
        ("is licensed under version 2 or later of the GNU General Public License", "GPL-2.0-or-later"),
        ("License: GPL v2 or later", "GPL-2.0-or-later"),
        ("under the GNU Lesser Lesser General Public License; version 2.1", "LGPL-2.1-only"),
        ("Under GPLv2 or v3, at your option", "GPL-2.0-only OR GPL-3.0-only"),
        ("under version 2 or version 3 of the GNU GPL", "GPL-2.0-only OR GPL-3.0-only"),
        ("under the GPL v2 or v3 or later", "GPL-2.0-or-later"),
        ("under the GPL v2 or v1.1 of the MPL", "GPL-2.0-only"),
        ("Originally GPL, relicensed under MIT", "MIT"),
        ("Relicensed from the GPL to the BSD 3-Clause License.", "BSD-3-Clause"),
        ("Originally MIT, relicensed under GPLv3", "GPL-3.0-only"),
        ("License: Dual BSD/GPL", "BSD-3-Clause OR GPL-1.0-or-later"),
        (
            "under either the GNU General Public License, version 2, or the Mozilla Public License, version 1.1",
            "GPL-2.0-only OR MPL-1.1",
        ),
        ("libraries are under the LGPLv2+, tools under the GPLv3", "LGPL-2.0-or-later AND GPL-3.0-only"),
        ("under the Common Development and Distribution License, version 1.1", "CDDL-1.1"),
        ("Licensed under the Eclipse Public License v2.0 or the Foo Public License", "EPL-2.0"),
        ("under the GNU Library GPL, version 2 or later; a copy is in common-licenses/LGPL-2", "LGPL-2.0-or-later"),
        ("under the Apache 2.0 license or version 2 of the GNU GPL", "Apache-2.0 OR GPL-2.0-only"),
        (
            "can be used either under the GNU LGPL, version 3, or under the Apache License.",
            "Apache-2.0 OR LGPL-3.0-only",
        ),
        ("available via the MIT or new BSD license", "BSD-3-Clause OR MIT"),
        ("under the same terms as Perl itself", "Artistic-1.0-Perl OR GPL-1.0-or-later"),
        ("Version: MPL 1.1/GPL 2.0\n- under the GNU GPL version 2 or later", "GPL-2.0-or-later OR MPL-1.1"),
    ],
)
def test_short_forms_name_copyleft_with_its_version_or_the_lowest_one(notice, licence):
    stated = licence_of_file(None, hashes(notice), "MIT")
    assert set(stated.split(" AND ")) == set(licence.split(" AND "))


@pytest.mark.parametrize(
    "words",
    [
        "Compatible with the GPL.",
        "This is not the GPL.",
        "Thanks to N. N. for making gdevold.c available under a dual AFPL/GPL license.",
        "Must not be combined with the GPL.",
        "A rewrite of foo (GPLv3); no code of it was used.",
        "Licences such as GPL-3.0 are refused.",
    ],
)
def test_a_mention_is_no_statement(words):
    assert licence_of_file(None, hashes(words), "MIT") == "MIT"


def test_the_past_of_a_licence_is_a_mention_where_another_one_took_its_place():
    assert licence_notice(hashes("This used to be GPLv3, and is now licensed under Apache 2.0.")) == "Apache-2.0"
    assert licence_notice(hashes("Formerly under the GPL.")) == "unknown"
    assert licence_notice(hashes("Thanks to N. N.; this file is under the GPLv2.")) == "GPL-2.0-only"


@pytest.mark.parametrize(
    "text",
    [
        'TAG = "# SPDX-License-Identifier: GPL-3.0-only"\n',
        "const notice = `\nSPDX-License-Identifier: AGPL-3.0-only\n`;\n",
        "# REUSE-IgnoreStart\n# SPDX-License-Identifier: GPL-3.0-only\n# REUSE-IgnoreEnd\nimport os\n",
    ],
)
def test_a_tag_in_a_string_or_where_reuse_ignores_it_is_a_mention(text):
    assert licence_of_file(None, text, "MIT") == "MIT"


def test_a_block_for_some_applies_beside_a_permissive_one():
    packaged = "/* MIT license */\n\n/* Copying is granted for non-commercial purposes. */\nint a;\n"
    assert licence_notice(packaged) == "MIT AND LicenseRef-NonCommercial"
    assert licence_notice("class A {\n  // from https://stackoverflow.com/a/1, CC BY-SA 3.0\n}\n") == "CC-BY-SA-3.0"


def test_blocks_of_one_file_apply_together_and_the_words_of_a_block_leave_a_choice():
    packaged = "/*!\n * Licensed GPLv3 for open source use\n * or Commercial License for commercial use\n */\n\n"
    assert licence_notice(packaged + "/**\n * bridge\n * MIT license\n */\nvar a;\n") == "GPL-3.0-only AND MIT"
    assert licence_notice("// Dual licensed under the MIT and GPLv2 licenses.\nvar a;\n") == "GPL-2.0-only OR MIT"
    assert licence_notice("// sorter - MIT & GPL\nvar a;\n") == "GPL-1.0-or-later AND MIT"


@pytest.mark.parametrize(
    ("notice", "licence"),
    [
        ("Business Source License 1.1; Change Date: 2029-01-01; Change License: Apache License 2.0", "BUSL-1.1"),
        ("Licensed under the Elastic License 2.0.", "Elastic-2.0"),
        ("under the terms of the Server Side Public License, version 1", "SSPL-1.0"),
        ("Apache License 2.0 with the Commons Clause", "Apache-2.0 AND LicenseRef-scancode-commons-clause"),
        ("Licensed under CC BY-NC 4.0", "CC-BY-NC-4.0"),
        ("From https://stackoverflow.com/a/1 (CC BY-SA 4.0)", "CC-BY-SA-4.0"),
        ("CONFIDENTIAL - do not copy without written permission.", "LicenseRef-scancode-proprietary-license"),
        ("No license is granted.", "LicenseRef-scancode-proprietary-license"),
        (
            (
                "Under the Apache License, Version 2.0, without conditions, express or implied. See the\n"
                "License. Parts under the Boost Software License 1.0 (see LICENSE or copy at http://boost.org/LICENSE_1_0.txt)"
            ),
            "Apache-2.0 AND BSL-1.0",
        ),
        ("under the terms of the BSD or ZPL 2.1 licenses (see the file LICENSE)", "BSD-3-Clause OR ZPL-2.1"),
        ("No part may be copied except according to the terms in the LICENSE file.", "MIT"),
        ("version 20230904\npublic domain\ndjb", "LicenseRef-scancode-public-domain"),
        ('"THE BEER-WARE LICENSE" (Revision 42): as long as you retain this notice', "Beerware"),
        ("License: BSD2 (see the file LICENSE)", "BSD-2-Clause"),
        ("Free for non-commercial use only.", "LicenseRef-NonCommercial"),
        ("Distribué sous licence publique générale GNU, version 2 ou ultérieure.", "GPL-2.0-or-later"),
        ("GNU General Public License, Version 2 der Lizenz oder jeder späteren Version", "GPL-2.0-or-later"),
        ("Licencia Pública General GNU, versión 3, o cualquier versión posterior", "GPL-3.0-or-later"),
        ("на условиях Стандартной общественной лицензии GNU версии 2", "GPL-2.0-only"),
        ("Vous pouvez redistribuer ce fichier selon la licence de son auteur.", "unknown"),
        ("GPL v3 or later", "GPL-3.0-or-later"),
        ("License: GPL-2", "GPL-2.0-only"),
        ("LGPLv2+", "LGPL-2.0-or-later"),
        ("AGPLv3", "AGPL-3.0-only"),
    ],
)
def test_restricted_foreign_and_short_notices_are_named(notice, licence):
    assert licence_of_file(None, hashes(notice), "MIT") == licence


@pytest.mark.parametrize(
    ("notice", "licence"),
    [
        ("Attribution-ShareAlike 4.0 International (CC BY-SA 4.0)", "CC-BY-SA-4.0"),
        ("CC BY-SA 3.0 Attribution-ShareAlike", "CC-BY-SA-3.0"),
        ("Creative Commons BY-NC 3.0", "CC-BY-NC-3.0"),
        ("BSD 3-Clause Clear License", "BSD-3-Clause-Clear"),
        ("Eclipse Distribution License v1.0", "BSD-3-Clause"),
        ("This program is the proprietary software of Acme.", PROPRIETARY),
        ("This source may not be redistributed.", PROPRIETARY),
        ("Licensed exclusively to customers of Acme.", PROPRIETARY),
        ("The exclusive property of Acme. No rights are granted.", PROPRIETARY),
        ("For demo use only.", PROPRIETARY),
        ("Provided under NDA.", PROPRIETARY),
        ("No redistribution.", PROPRIETARY),
        ("Tüm hakları saklıdır. İzinsiz kopyalanması yasaktır.", PROPRIETARY),
        ("무단 복제를 금지합니다.", PROPRIETARY),
        ("未经许可,不得复制。", PROPRIETARY),
        ("È vietata la copia.", PROPRIETARY),
        ("Ne pas diffuser.", PROPRIETARY),
        ("Streng vertraulich!", PROPRIETARY),
        ("Vertrauliche Daten stehen nie im Log.", "MIT"),
        ("Código propietario.", PROPRIETARY),
        ("Только для внутреннего использования.", PROPRIETARY),
        ("May be used for evaluation only.", NON_COMMERCIAL),
        ("Academic use only.", NON_COMMERCIAL),
        ("Usage non commercial uniquement.", NON_COMMERCIAL),
        ("Nur für nicht-kommerzielle Zwecke.", NON_COMMERCIAL),
        ("Solo para uso no comercial.", NON_COMMERCIAL),
        ("Только для некоммерческого использования.", NON_COMMERCIAL),
        ("Apenas para uso não comercial.", NON_COMMERCIAL),
        ("Alleen voor niet-commercieel gebruik.", NON_COMMERCIAL),
        ("Tylko do użytku niekomercyjnego.", NON_COMMERCIAL),
        ("禁止用于商业用途。", NON_COMMERCIAL),
        ("商用利用禁止。", NON_COMMERCIAL),
        ("비상업적 용도로만 사용할 수 있습니다.", NON_COMMERCIAL),
        ("GNU 일반 공중 사용 허가서 3판 또는 그 이후 판", "GPL-3.0-or-later"),
        ("GNU Genel Kamu Lisansı sürüm 3 ya da daha sonraki bir sürüm", "GPL-3.0-or-later"),
        ("基于 MIT 许可证发布。", "MIT"),
        ("MIT 라이선스로 배포됩니다.", "MIT"),
        ("Na licencji MIT.", "MIT"),
        ("Apache 许可证 2.0 版", "Apache-2.0"),
        ("Under the CreativeML Open RAIL-M license.", "LicenseRef-RAIL"),
        ("Llama 2 Community License Agreement", "LicenseRef-scancode-llama-2-license-2023"),
        ("Gemma Terms of Use", "LicenseRef-scancode-gemma-tou-2024-04-01"),
        ("Acme Model License", "unknown"),
        ("license: acme", "unknown"),
        ("@license Commercial", "unknown"),
        ("MPL", "unknown"),
        ("License: see LICENSE", "MIT"),
        ("Copyright Acme. For terms of use, see https://acme.example/terms", "unknown"),
        ("Your use of this Acme software constitutes acceptance of these terms.", "unknown"),
        ("You must purchase a license to use this component.", PROPRIETARY),
        ("This file is part of the Enterprise Edition; see ee/LICENSE", "unknown"),
        ("Kommerzielle Nutzung untersagt.", NON_COMMERCIAL),
        ("Prohibido el uso comercial.", NON_COMMERCIAL),
        ("Change License: MIT; until then BSL", "BUSL-1.1"),
        ("The software shall be used for Good, not Evil.", "JSON"),
        ("No code from GPL projects was used.", "MIT"),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", "GPL-3.0-or-later WITH GCC-exception-3.1"),
        ("MIT License with additional restrictions, see TERMS", "unknown"),
        ("MIT license, except that Acme may not use it", "unknown"),
        ("Modified MIT license", "unknown"),
        ("MIT License. Do not distribute.", "unknown"),
        ("Code is under the MIT license, weights are under the Acme Model License.", "unknown"),
        ("MIT license. The weights may not be used to train others.", "unknown"),
    ],
)
def test_what_limits_a_licence_or_is_not_understood_beside_it_is_never_permissive(notice, licence):
    assert licence_of_file(None, hashes(notice), "MIT") == licence


def test_all_rights_reserved_by_another_holder_than_that_of_the_licence_is_proprietary():
    head = "// Copyright 2022 Zed AG. All rights reserved.\npackage a\n"
    assert (
        licence_of_file(None, head, "MIT", holders=frozenset({"somebody"})) == "LicenseRef-scancode-proprietary-license"
    )
    assert licence_of_file(None, head, "MIT", holders=frozenset({"zed", "ag"})) == "MIT"
    assert licence_of_file(None, head, "MIT") == "unknown"
    assert licence_of_file(None, head.replace("reserved.", "reserved. MIT license."), "MIT") == "MIT"


def test_the_manifest_says_what_a_head_leaves_open():
    assert (
        licence_of_file(None, "# Licensed under the MIT and Apache-2.0 licenses.\nx = 1\n", "Apache-2.0 OR MIT")
        == "Apache-2.0 OR MIT"
    )
    head = "# Licensed under the GPL: https://www.gnu.org/licenses/old-licenses/gpl-2.0.html\nx = 1\n"
    assert licence_of_file(None, head, "GPL-2.0-or-later") == "GPL-2.0-or-later"
    assert licence_of_file(None, head, "MIT") == "GPL-2.0-only"
    assert licence_of_file(None, "# under the GPL version 2 only\nx = 1\n", "GPL-2.0-or-later") == "GPL-2.0-only"


MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in the "
    "Software without restriction, including without limitation the rights to use, copy, modify, merge, publish and to "
    "permit persons to whom the Software is furnished to do so, subject to the following conditions:\nThe above notice "
    "shall be included in all copies or substantial portions of the Software.\n"
)


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (MIT + 'THE SOFTWARE IS PROVIDED "AS IS"', "MIT"),
        (MIT + "The Software shall be used for Good, not Evil.\n", "JSON"),
        (MIT + "Except as contained in this notice, the name of Somebody shall not be used.", "unknown"),
        (
            BSD + "\n3. The end-user documentation included with the redistribution must name the Apache Software "
            "Foundation.",
            "Apache-1.1",
        ),
        (BSD + "\n3. Products derived from this software may not be called Thing.", "unknown"),
        (
            (
                "Permission to use, copy, modify, and distribute this software for any purpose with or without fee is "
                "hereby granted.\nExcept as contained in this notice, the name of a copyright holder shall not be used."
            ),
            "curl",
        ),
    ],
)
def test_texts_that_begin_as_a_well_known_one_are_told_apart(text, licence):
    assert licence_notice(hashes(text)) == licence


@pytest.mark.parametrize(
    ("words", "exception"),
    [
        ("Linking this library statically or dynamically with other modules", "Classpath-exception-2.0"),
        ("it contains a configuration script generated by Autoconf", "Autoconf-exception-generic"),
        ("if you create a document which uses this font", "Font-exception-2.0"),
        ("a program that is built using GNU Libtool", "Libtool-exception"),
        ("unlimited permission to link the compiled version of this file", "GCC-exception-2.0"),
        ("part of the Bison parser skeleton", "Bison-exception-2.2"),
    ],
)
def test_an_exception_is_named_beside_the_gnu_licence(words, exception):
    text = hashes(f"{GNU.format(kind='', version='2')}\nAs a special exception, {words} ...")
    assert licence_notice(text) == f"GPL-2.0-or-later WITH {exception}"


@pytest.mark.parametrize(
    ("notice", "licence"),
    [
        (
            "Permission to use, copy, modify, and distribute this software and its documentation is hereby granted",
            "HPND",
        ),
        ("This file is part of the Independent JPEG Group's software.", "IJG"),
        ("For conditions of distribution and use, see copyright notice in zlib.h", "Zlib"),
        ("This source file is subject to version 3.01 of the PHP license,", "PHP-3.01"),
        ("You may distribute under the terms of either the GNU General Public\nLicense or the Artistic License.", PERL),
        ("Under the Elastic License; you may comply with the Elastic License 2.0.", "Elastic-2.0"),
        ("This is governed by the CeCILL-B license, see http://www.cecill.info.", "CECILL-B"),
        ("Free for commercial and non-commercial use.\nReleased under the MIT License.", "MIT"),
        ("Licensed under Apache License v2.0 with Runtime Library Exception", "Apache-2.0 WITH Swift-exception"),
        ("Under the terms of the PSFRAG-9 License.", "unknown"),
        ("Licensed under AFL-3.0", "AFL-3.0"),
        ("Child is free software; Standard perl licence.", PERL),
        ("Dual-licensed, allowing you to choose between the GNU General Public License and ours.", "GPL-1.0-or-later"),
        ("Under the conditions of the LaTeX Project Public License, either version 1.3c", "LPPL-1.3c"),
        ("Under the Open Data Commons Open Database License v1.0", "ODbL-1.0"),
        ("Available under two licenses, choose whichever you prefer: MIT License or GPLv3", "GPL-3.0-only OR MIT"),
        ("It parses GPL headers. It is licensed under the MIT license.", "MIT"),
        ("Can be redistributed under Acme's Whatever 1.6 license", "unknown"),
        ("Licensed only under a valid commercial agreement with Acme", "unknown"),
        ("This source code is subject to ACME ownership rights.", "unknown"),
        ("This file is Acme Confidential.", "LicenseRef-scancode-proprietary-license"),
        ("The same license as Frobnicator itself.", "unknown"),
        (f"Modified to match others instead of these.\n\n{BSD}", "BSD-2-Clause"),
    ],
)
def test_further_licences_are_read_by_their_own_words(notice, licence):
    assert licence_of_file(None, block(notice), "MIT") == licence


@pytest.mark.parametrize("mark", ["#XY ", "C  ", "*> ", "@c ", ".. ", "| ", "{{! "])
def test_what_begins_each_line_is_the_mark_of_a_comment(mark):
    lines = (GNU.format(kind="", version="3")).replace(" you", "\nyou").replace(" the", "\nthe").splitlines()
    assert licence_of_file(None, "".join(f"{mark}{line}\n" for line in lines), "MIT") == "GPL-3.0-or-later"
