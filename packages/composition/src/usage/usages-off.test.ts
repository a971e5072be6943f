// SPDX-License-Identifier: Apache-2.0
import { test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { startTestServer } from "@purlin/kube-controller/testing";
import { refTo, UsageScene } from "../../test/usage-scene.ts";
import { createDisabledUsageControllers } from "./usage-controller.ts";

test("while Usages are off, an event names the flag, and a Usage with a finalizer can be deleted", async () => {
  await using scene = await UsageScene.start(await startTestServer(), { isIdle: true });
  const { client, events } = scene.control;
  for (const controller of createDisabledUsageControllers({ client, events, clock: systemClock, log: silentLog })) {
    await scene.control.run(controller);
  }
  const used = await scene.configMap("default", "used");
  const finalizers = ["usage.apiextensions.crossplane.io"];
  const usage = await scene.usage("default", { of: refTo("used"), reason: "r" }, { finalizers });
  await scene.event(usage, /^Warning FeatureDisabled: .*--enable-usages$/);
  await scene.delete(used);
  await scene.delete(usage);
  await scene.gone(usage);
});
