// SPDX-License-Identifier: Apache-2.0
import { createStyle, type Style } from "../src/terminal/style.ts";
import { TestIo } from "./test-io.ts";

/** Text as it is without a terminal. */
export const plainStyle: Style = createStyle(new TestIo().stdout, {});
