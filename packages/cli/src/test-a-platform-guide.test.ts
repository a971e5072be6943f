// SPDX-License-Identifier: Apache-2.0
// Does what the page on tests says.
import { test } from "node:test";
import { playPage } from "../test/play-guide.ts";

test("the page on tests does what it says", () => playPage("docs/guide/test-a-platform.md"));
