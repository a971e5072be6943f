// SPDX-License-Identifier: Apache-2.0
export { createTestClock, type TestClock } from "./test-clock.ts";
