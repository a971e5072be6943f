// SPDX-License-Identifier: Apache-2.0
import type { TestCase } from "../src/test-command/test-file.ts";

/** A case of `purlin test` that does nothing, with members that a test sets. */
export function testCase(members: Partial<TestCase> = {}): TestCase {
  const file = members.file ?? "app.test.yaml";
  return {
    kind: "CompositionTest",
    ...{ file, suite: "apps", name: "small", tags: [], skip: undefined, isOnly: false, timeoutMs: undefined },
    ...{ inputs: {}, patches: [], expect: undefined, at: `${file}:6:5`, locate: () => "" },
    reconciles: [{ name: "", change: {}, until: 1, expect: undefined }],
    ...members,
  };
}
