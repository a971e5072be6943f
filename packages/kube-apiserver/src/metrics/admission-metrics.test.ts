// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { AdmissionMetrics, type WebhookOutcome } from "./admission-metrics.ts";

function setUp() {
  const registry = new Registry();
  const metrics = new AdmissionMetrics(registry);
  /** The samples whose name begins like this, without `apiserver_` and without buckets. */
  const samples = async (name: string): Promise<string[]> =>
    `${await registry.metrics()}\n${metrics.text()}`
      .split("\n")
      .filter((line) => line.startsWith(`apiserver_${name}`) && !line.includes("_bucket{"))
      .map((line) => line.slice("apiserver_".length));
  const bounds = async (name: string): Promise<string[]> =>
    [
      ...`${await registry.metrics()}\n${metrics.text()}`.matchAll(new RegExp(`apiserver_${name}_bucket\\{.*`, "g")),
    ].map(([line]) => /le="([^"]+)"/.exec(line)?.[1] ?? "");
  return { metrics, samples, bounds };
}

const outcome: WebhookOutcome = { name: "w.org", type: "admit", operation: "CREATE", seconds: 0.5, code: 200 };
const labels = 'name="w.org",operation="CREATE"';

test("a call of a webhook that admits is counted and timed, and not as a rejection", async () => {
  const { metrics, samples } = setUp();
  metrics.webhook(outcome);
  assert.deepEqual(await samples("admission_webhook"), [
    `admission_webhook_admission_duration_seconds_sum{${labels},rejected="false",type="admit"} 0.5`,
    `admission_webhook_admission_duration_seconds_count{${labels},rejected="false",type="admit"} 1`,
    `admission_webhook_request_total{code="200",${labels},rejected="false",type="admit"} 1`,
  ]);
});

test("a refusal is counted by its code and by what caused it", async () => {
  const { metrics, samples } = setUp();
  metrics.webhook({ ...outcome, type: "validating", code: 403, refusal: "no_error" });
  metrics.webhook({ ...outcome, type: "validating", code: 0, refusal: "apiserver_internal_error" });
  assert.deepEqual(await samples("admission_webhook_rejection_count"), [
    `admission_webhook_rejection_count{error_type="no_error",${labels},rejection_code="403",type="validating"} 1`,
    `admission_webhook_rejection_count{error_type="apiserver_internal_error",${labels},rejection_code="0",type="validating"} 1`,
  ]);
  assert.deepEqual(await samples("admission_webhook_admission_duration_seconds_count"), [
    `admission_webhook_admission_duration_seconds_count{${labels},rejected="true",type="validating"} 2`,
  ]);
});

test("codes above 600 are counted as 600", async () => {
  const { metrics, samples } = setUp();
  for (const code of [599, 600, 601, 1e9]) metrics.webhook({ ...outcome, code, refusal: "no_error" });
  const counts = async (name: string): Promise<(readonly [string | undefined, string | undefined])[]> =>
    (await samples(name)).map((line) => [/code="(\d+)"/.exec(line)?.[1], line.split(" ")[1]] as const);
  const want = [
    ["599", "1"],
    ["600", "3"],
  ];
  assert.deepEqual(await counts("admission_webhook_request_total"), want);
  assert.deepEqual(await counts("admission_webhook_rejection_count"), want);
});

test("a failure that the webhook allows is counted apart", async () => {
  const { metrics, samples } = setUp();
  metrics.webhook({ ...outcome, isFailedOpen: false });
  assert.deepEqual(await samples("admission_webhook_fail_open_count"), []);
  metrics.webhook({ ...outcome, isFailedOpen: true });
  assert.deepEqual(await samples("admission_webhook_fail_open_count"), [
    'admission_webhook_fail_open_count{name="w.org",type="admit"} 1',
  ]);
  assert.deepEqual(await samples("admission_webhook_rejection_count"), []);
});

test("steps and plugins are timed by operation, type and whether they rejected the write", async () => {
  const { metrics, samples } = setUp();
  const step = metrics.step("admit", "UPDATE");
  step(1, false);
  step(2, true);
  step(3, true);
  metrics.controller("LimitRanger", "validate", "CREATE")(0.25, false);
  const counts = (await samples("admission_")).filter((line) => line.includes("_count{") || line.includes("_sum{"));
  const stepLabels = (rejected: boolean): string => `operation="UPDATE",rejected="${rejected}",type="admit"`;
  const plugin = 'name="LimitRanger",operation="CREATE",rejected="false",type="validate"';
  for (const line of [
    `admission_step_admission_duration_seconds_sum{${stepLabels(false)}} 1`,
    `admission_step_admission_duration_seconds_count{${stepLabels(true)}} 2`,
    `admission_step_admission_duration_seconds_sum{${stepLabels(true)}} 5`,
    `admission_controller_admission_duration_seconds_sum{${plugin}} 0.25`,
    `admission_controller_admission_duration_seconds_count{${plugin}} 1`,
  ]) {
    assert.ok(counts.includes(line), `${line} in\n${counts.join("\n")}`);
  }
});

const conditions = { name: "w.org", kind: "webhook", type: "admit", operation: "CREATE" } as const;
const conditionLabels = 'kind="webhook",name="w.org",operation="CREATE",type="admit"';

test("match conditions are timed, and those that fail are counted each", async () => {
  const { metrics, samples } = setUp();
  const observe = metrics.conditions(conditions);
  observe(0.5, 0);
  assert.deepEqual(await samples("admission_match_condition_evaluation_errors_total"), []);
  observe(0.25, 2);
  assert.deepEqual(await samples("admission_match_condition"), [
    `admission_match_condition_evaluation_seconds_sum{${conditionLabels}} 0.75`,
    `admission_match_condition_evaluation_seconds_count{${conditionLabels}} 2`,
    `admission_match_condition_evaluation_errors_total{${conditionLabels}} 2`,
  ]);
});

test("a webhook that its match conditions exclude is counted", async () => {
  const { metrics, samples } = setUp();
  metrics.excluded(conditions);
  metrics.excluded({ ...conditions, name: "x.org" });
  assert.deepEqual(await samples("admission_match_condition"), [
    `admission_match_condition_exclusions_total{${conditionLabels}} 1`,
    `admission_match_condition_exclusions_total{${conditionLabels.replace("w.org", "x.org")}} 1`,
  ]);
});

test("validations of policies have the action that was taken, mutations have none", async () => {
  const { metrics, samples } = setUp();
  const check = { policy: "p", binding: "b", seconds: 0.5, error: "no_error" } as const;
  metrics.validation(check, "deny");
  metrics.mutation({ ...check, error: "out_of_budget" });
  const of = (error: string): string => `error_type="${error}",policy="p",policy_binding="b"`;
  assert.deepEqual((await samples("validating_admission_policy_check")).sort(), [
    `validating_admission_policy_check_duration_seconds_count{${of("no_error")},enforcement_action="deny"} 1`,
    `validating_admission_policy_check_duration_seconds_sum{${of("no_error")},enforcement_action="deny"} 0.5`,
    `validating_admission_policy_check_total{${of("no_error")},enforcement_action="deny"} 1`,
  ]);
  assert.deepEqual((await samples("mutating_admission_policy_check")).sort(), [
    `mutating_admission_policy_check_duration_seconds_count{${of("out_of_budget")}} 1`,
    `mutating_admission_policy_check_duration_seconds_sum{${of("out_of_budget")}} 0.5`,
    `mutating_admission_policy_check_total{${of("out_of_budget")}} 1`,
  ]);
});

test("histograms have the buckets of the reference", async () => {
  const { metrics, bounds } = setUp();
  metrics.webhook(outcome);
  metrics.step("admit", "CREATE")(0, false);
  metrics.controller("c", "admit", "CREATE")(0, false);
  metrics.conditions(conditions)(0, 0);
  metrics.mutation({ policy: "p", binding: "b", seconds: 0, error: "no_error" });
  const step = ["0.005", "0.025", "0.1", "0.5", "1", "2.5"];
  assert.deepEqual(await bounds("admission_webhook_admission_duration_seconds"), [...step, "10", "25", "+Inf"]);
  assert.deepEqual(await bounds("admission_step_admission_duration_seconds"), [...step, "+Inf"]);
  assert.deepEqual(await bounds("admission_controller_admission_duration_seconds"), [...step, "+Inf"]);
  assert.deepEqual(await bounds("admission_match_condition_evaluation_seconds"), [
    "0.001",
    "0.005",
    "0.01",
    "0.025",
    "0.1",
    "0.2",
    "0.25",
    "+Inf",
  ]);
  assert.deepEqual(await bounds("mutating_admission_policy_check_duration_seconds"), [
    "5e-7",
    "0.001",
    "0.01",
    "0.1",
    "1",
    "+Inf",
  ]);
});

test("a thousand webhooks and policies have series of their own, all others share one", async () => {
  const { metrics, samples } = setUp();
  for (let index = 0; index < 1500; index++) metrics.webhook({ ...outcome, name: `w${index}.org` });
  metrics.mutation({ policy: "p", binding: "b", seconds: 1, error: "no_error" });
  const counts = await samples("admission_webhook_request_total");
  assert.equal(counts.length, 1001);
  assert.match(counts.at(-1) ?? "", /name="other".*\} 500$/);
  const [check = ""] = await samples("mutating_admission_policy_check_total");
  assert.match(check, /policy="other",policy_binding="other"/);
});
