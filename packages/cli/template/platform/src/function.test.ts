import { test } from "node:test";
import { expectResponse, invoke, newRequest } from "@purlin/function-sdk/testing";
import type * as api from "../types/__GROUP__/v1.d.ts";
import { fn } from "./function.ts";

const xr = (spec: Partial<api.Observed__KIND__["spec"]> = {}): api.Observed__KIND__ => ({
  apiVersion: "__GROUP__/v1",
  kind: "__KIND__",
  metadata: { name: "a", namespace: "default" },
  spec: { owner: "team-a", size: "small", ...spec },
});

test("composes a ConfigMap with the settings", async () => {
  const rsp = await invoke(fn, newRequest({ xr: xr({ size: "large", settings: { color: "blue" } }) }));
  expectResponse(rsp)
    .composed("settings", {
      kind: "ConfigMap",
      metadata: { name: "a-settings" },
      data: { color: "blue", owner: "team-a", megabytes: "8192" },
    })
    .compositeStatus({ configMap: "a-settings" });
});

test("keeps what earlier steps want", async () => {
  const req = newRequest({ xr: xr(), desired: { other: { apiVersion: "v1", kind: "Secret" } } });
  expectResponse(await invoke(fn, req)).noDesiredLoss(req);
});

test("refuses an owner among the settings", async () => {
  const rsp = await invoke(fn, newRequest({ xr: xr({ settings: { owner: "team-b" } }) }));
  expectResponse(rsp)
    .fatal(/spec\.settings\.owner/)
    .condition("SettingsValid", "False", { reason: "OwnerSet" })
    .notComposed("settings");
});
