// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { installCrds } from "@purlin/kube-controller";
import { judgeCrdCase, undescribedFields } from "@purlin/kube-controller/testing";
import { crdCases } from "../../test/crd-cases.ts";
import { startTestControl, type TestControl } from "../../test/test-control.ts";
import { compositionCrds, keptCrds } from "./composition-crds.ts";

let control: TestControl;
before(async () => {
  control = await startTestControl(keptCrds());
});
after(() => control[Symbol.asyncDispose]());

for (const [about, cases] of Object.entries(crdCases)) {
  suite(about, () => {
    for (const [name, one] of Object.entries(cases)) {
      test(`${name}: ${one.reason}`, () => judgeCrdCase(control.users, one));
    }
  });
}

test("installed twice, nothing is written the second time", async () => {
  const seen: string[] = [];
  await installCrds(control.users, [...compositionCrds(), ...keptCrds()], {
    onProgress: ({ what }) => seen.push(what),
  });
  assert.deepEqual([...new Set(seen)].sort(), ["established", "unchanged"]);
});

for (const crd of [...compositionCrds(), ...keptCrds()]) {
  test(`every field of ${crd.metadata.name} has a description`, () => assert.deepEqual(undescribedFields(crd), []));
}
