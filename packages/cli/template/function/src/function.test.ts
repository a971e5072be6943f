import { test } from "node:test";
import { expectResponse, invoke, newRequest } from "@purlin/function-sdk/testing";
import { fn } from "./function.ts";

const xr = (spec: object) => ({ apiVersion: "example.org/v1", kind: "XGreeting", metadata: { name: "a" }, spec });

test("greets by name", async () => {
  const rsp = await invoke(fn, newRequest({ xr: xr({ name: "Ada" }) }));
  expectResponse(rsp)
    .composed("greeting", { data: { greeting: "Hello, Ada!" } })
    .condition("Greeted", "True", { reason: "Available", claim: true });
});

test("keeps what earlier steps want", async () => {
  const req = newRequest({ xr: xr({ name: "Ada" }), desired: { other: { apiVersion: "v1", kind: "Secret" } } });
  expectResponse(await invoke(fn, req)).noDesiredLoss(req);
});

test("says what is missing", async () => {
  const rsp = await invoke(fn, newRequest({ xr: xr({}) }));
  expectResponse(rsp)
    .fatal(/spec\.name is missing/)
    .condition("Greeted", "False", { claim: true });
});
