// SPDX-License-Identifier: Apache-2.0
// How Usages behave, for every API server: the embedded one, and a cluster with our webhook.
import { suite, test } from "node:test";
import { deletionCases } from "./usage-deletion-cases.ts";
import { holdingCases } from "./usage-holding-cases.ts";
import type { UsageScene } from "./usage-scene.ts";

const usageCases = [...holdingCases, ...deletionCases];

/** Tests all cases, at the same time where they can be. */
export function testUsages(title: string, scene: () => UsageScene): void {
  suite(title, { concurrency: 8 }, () => {
    for (const { title: name, run } of usageCases.filter(({ isAlone }) => !isAlone)) test(name, () => run(scene()));
  });
  suite(`${title}, alone`, () => {
    for (const { title: name, run } of usageCases.filter(({ isAlone }) => isAlone)) test(name, () => run(scene()));
  });
}
