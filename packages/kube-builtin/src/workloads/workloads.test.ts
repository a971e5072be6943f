// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { metaOf } from "@purlin/kube-apiserver/kinds";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../../test/index.ts";
import { objectErrors } from "../../test/object-errors.ts";
import { cronJobRules } from "./job-rules.ts";

const jobs = "/apis/batch/v1/namespaces/default/jobs";
const sets = "/apis/apps/v1/namespaces/default/statefulsets";
let server: TestServer;

before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const template = (labels: JsonObject | undefined): JsonObject => ({
  metadata: labels === undefined ? {} : { labels },
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
});

test("a Job selects its Pods by its own identity, and takes their labels", async () => {
  const job = await server.post(jobs, { metadata: { name: "one" }, spec: { template: template({ a: "b" }) } });
  const { uid = "", labels } = metaOf(job);
  const own = {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": "one",
    "controller-uid": uid,
    "job-name": "one",
  };
  const spec = job["spec"] as JsonObject;
  assert.deepEqual(spec["selector"], { matchLabels: { "batch.kubernetes.io/controller-uid": uid } });
  assert.deepEqual(labels, { a: "b", ...own });
  assert.deepEqual((spec["template"] as JsonObject)["metadata"], { labels: { a: "b", ...own } });
});

test("a Job with labels of its own keeps to them", async () => {
  const metadata = { name: "two", labels: { x: "y" } };
  const job = await server.post(jobs, { metadata, spec: { template: template({ a: "b" }) } });
  assert.deepEqual(metaOf(job).labels, { x: "y" });
});

test("a Job that chooses its Pods itself gets no labels", async () => {
  const spec = { manualSelector: true, selector: { matchLabels: { a: "b" } }, template: template({ a: "b" }) };
  const job = await server.post(jobs, { metadata: { name: "three" }, spec });
  assert.deepEqual(metaOf(job).labels, { a: "b" });
  assert.deepEqual((job["spec"] as JsonObject)["selector"], { matchLabels: { a: "b" } });
});

async function patched(url: string, spec: JsonObject): Promise<string> {
  const headers = { "content-type": "application/merge-patch+json" };
  const response = await server.send(url, { method: "PATCH", headers, body: { spec } });
  return response.code === 200 ? "" : String((answerValue(response) as JsonObject)["message"]);
}

test("what a Job does stays as it is, how many at a time may change", async () => {
  await server.post(jobs, { metadata: { name: "four" }, spec: { template: template(undefined) } });
  assert.equal(await patched(`${jobs}/four`, { parallelism: 5, suspend: true }), "");
  assert.equal(
    await patched(`${jobs}/four`, { completions: 5 }),
    'Job.batch "four" is invalid: spec.completions: Invalid value: 5: field is immutable',
  );
  assert.match(
    await patched(`${jobs}/four`, { completionMode: "Indexed" }),
    /spec\.completionMode.*field is immutable/,
  );
});

test("of a StatefulSet little may change, and its containers mount what its claims make", async () => {
  const main = { name: "c", image: "i", volumeMounts: [{ name: "data", mountPath: "/data" }] };
  const spec = {
    serviceName: "x",
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [main] } },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  };
  await server.post(sets, { metadata: { name: "set" }, spec });
  assert.equal(await patched(`${sets}/set`, { replicas: 3 }), "");
  assert.equal(
    await patched(`${sets}/set`, { serviceName: "y" }),
    "StatefulSet.apps \"set\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  );
});

const schedules: Readonly<Record<string, string | undefined>> = {
  "*/5 0-23 1,15 jan-dec MON-FRI": undefined,
  "@every 1h30m": undefined,
  "60 * * * *": "end of range (60) above maximum (59): 60",
  "@never": "unrecognized descriptor: @never",
  "TZ=UTC 0 0 * * *": "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
};

for (const [schedule, want] of Object.entries(schedules)) {
  test(`the schedule of a CronJob: ${schedule}`, () => {
    const errors = objectErrors(cronJobRules, { spec: { schedule } });
    const body = errors.find(({ field }) => field === "spec.schedule")?.body;
    assert.equal(body, want === undefined ? undefined : `Invalid value: "${schedule}": ${want}`);
  });
}

test("the time zone of a CronJob is the name of one", () => {
  const isRefused = (timeZone: string) =>
    objectErrors(cronJobRules, { spec: { timeZone } }).some(({ field }) => field === "spec.timeZone");
  assert.deepEqual(["Europe/Berlin", "UTC", "Nope", "", "Local"].map(isRefused), [false, false, true, true, true]);
});
