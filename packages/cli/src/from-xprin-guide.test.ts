// SPDX-License-Identifier: Apache-2.0
// Does what the page on other tools says.
import { test } from "node:test";
import { playPage } from "../test/play-guide.ts";

test("the page on moving from other tools does what it says", () => playPage("docs/guide/from-xprin.md"));
