// SPDX-License-Identifier: Apache-2.0
// Does what the page on finding causes says.
import { test } from "node:test";
import { playPage } from "../test/play-guide.ts";

test("the page on finding causes does what it says", () => playPage("docs/guide/find-out-why.md"));
