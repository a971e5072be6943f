// SPDX-License-Identifier: Apache-2.0
// The three scenarios of the design for functions that talk to the claim, one after the other, and a relapse.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  Condition,
  create,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  Status,
  Target,
} from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, conditionsOf, eventually, type Plane, startPlane } from "./harness/plane.ts";
import { rendersAsApplied } from "./harness/rendered.ts";
import { definitionOf, namespaceOf } from "./harness/sample-kinds.ts";

const group = "platform.example.org";
const claimType = { apiVersion: `${group}/v1alpha1`, kind: "App" };
const xrType = { apiVersion: `${group}/v1alpha1`, kind: "XApp" };
const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const namespace = "shop";
const web = { namespace, name: "web" };

const imageMessage = "The image provided does not exist or you are not authorized to use it.";
const waitingMessage = "Waiting for the deployment to be available.";

/** Deploys an app and reports the progress to the claim. */
function deployApp(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const image = xr.getString("spec.image");
  if (image.endsWith(":relapse")) return relapse(rsp);
  response.conditionTrue(rsp, "DatabaseReady", "Available").targetCompositeAndClaim();
  if (image.endsWith(":v9")) {
    response.conditionFalse(rsp, "ImageReady", "NotFound").withMessage(imageMessage).targetCompositeAndClaim();
    response
      .warning(rsp, "Check the image name and your pull permissions.")
      .withReason("ImageNotFound")
      .targetCompositeAndClaim();
    response.fatal(rsp, `manifest for ${image} not found`).withReason("ImageNotFound").targetCompositeAndClaim();
    response.normal(rsp, "after the fatal");
    return rsp;
  }
  response.conditionTrue(rsp, "ImageReady", "Available").targetCompositeAndClaim();
  const isReady = isAvailable(req);
  response.setDesiredComposedResource(rsp, "app", deployment(image), { ready: isReady });
  response.setDesiredCompositeStatus(rsp, { url: isReady ? "https://web.example.org" : "" });
  if (isReady) {
    response.conditionTrue(rsp, "AppReady", "Available").targetCompositeAndClaim();
    response.normal(rsp, "The app is available.").targetCompositeAndClaim();
  } else {
    response.conditionFalse(rsp, "AppReady", "Creating").withMessage(waitingMessage).targetCompositeAndClaim();
    response.normal(rsp, "Rolling out the app.").targetCompositeAndClaim();
  }
  response.normal(rsp, "chart values resolved");
  return rsp;
}

/** One that says less than before, and what is not its to say. */
function relapse(rsp: RunFunctionResponse): RunFunctionResponse {
  response.conditionTrue(rsp, "ImageReady", "First").targetCompositeAndClaim();
  const said = (type: string, status: Status, reason: string): Condition =>
    create(Condition, { type, status, reason, target: Target.TARGET_COMPOSITE });
  response.addCondition(rsp, said("ImageReady", Status.STATUS_CONDITION_UNSPECIFIED, "Second"));
  for (const type of ["Ready", "Responsive", "UpToDate"]) {
    response.addCondition(rsp, said(type, Status.STATUS_CONDITION_FALSE, "Stolen"));
  }
  response.fatal(rsp, "boom");
  return rsp;
}

function isAvailable(req: RunFunctionRequest): boolean {
  const observed = request.getObservedComposedResources(req).get("app");
  return observed?.resource.getCondition("Available")?.status === "True";
}

function deployment(image: string): KubeObject {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image }] } };
  return { ...deploymentType, metadata: { namespace }, spec: { selector: { matchLabels: labels }, template } };
}

const definition = definitionOf({
  group,
  kind: "XApp",
  claimKind: "App",
  scope: "Legacy",
  version: "v1alpha1",
  spec: { image: { type: "string" } },
  status: { url: { type: "string" } },
});

const composition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "app" },
  spec: { compositeTypeRef: xrType, pipeline: [{ step: "deploy-app", functionRef: { name: "deploy" } }] },
};

function claim(image: string): KubeObject {
  const labels = { tier: "front", "app.kubernetes.io/name": "web" };
  return { ...claimType, metadata: { ...web, labels, annotations: { "example.org/owner": "sam" } }, spec: { image } };
}

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { deploy: deployApp } });
  await plane.apply(namespaceOf(namespace), definition, composition, claim("team/app:v9"));
});
after(() => plane[Symbol.asyncDispose]());

const synced = { type: "Synced", status: "True", reason: "ReconcileSuccess" };
const responsive = { type: "Responsive", status: "True", reason: "WatchCircuitClosed" };
const databaseReady = { type: "DatabaseReady", status: "True", reason: "Available" };
const imageReady = { type: "ImageReady", status: "True", reason: "Available" };
const waiting = {
  type: "Ready",
  status: "False",
  reason: "Waiting",
  message: "Claim is waiting for composite resource to become Ready",
};

async function xrOf(bound: KubeObject): Promise<KubeObject> {
  const { resourceRef } = bound["spec"] as { readonly resourceRef: { readonly name: string } };
  return plane.get(xrType, { name: resourceRef.name });
}

const said = (type: string, reason: string) => (object: KubeObject) => conditionOf(object, type)?.reason === reason;

/** Claim and composite resource once the claim says so. */
async function both(what: string, isThere: (claim: KubeObject) => boolean): Promise<readonly [KubeObject, KubeObject]> {
  const bound = await plane.until(what, claimType, web, isThere);
  return [bound, await xrOf(bound)];
}

test("the image is not found", async () => {
  const [bound, xr] = await both("ImageReady says NotFound", said("ImageReady", "NotFound"));
  const { metadata } = xr;
  assert.match(metadata.name ?? "", /^web-[a-z0-9]{5}$/);
  assert.deepEqual(metadata.labels, {
    "crossplane.io/claim-name": "web",
    "crossplane.io/claim-namespace": "shop",
    "crossplane.io/composite": metadata.name,
    tier: "front",
  });
  assert.deepEqual(metadata.annotations, { "example.org/owner": "sam" });
  const imageMissing = { type: "ImageReady", status: "False", reason: "NotFound", message: imageMessage };
  const fatal =
    'cannot compose resources: pipeline step "deploy-app" returned a fatal result: manifest for team/app:v9 not found';
  assert.deepEqual(conditionsOf(xr), [
    databaseReady,
    imageMissing,
    responsive,
    { type: "Synced", status: "False", reason: "ReconcileError", message: fatal },
  ]);
  assert.deepEqual(conditionsOf(bound), [databaseReady, imageMissing, waiting, synced]);
  const { claimConditions, claimConditionTypes } = xr["status"] as Record<string, unknown>;
  assert.deepEqual(claimConditionTypes, ["DatabaseReady", "ImageReady"]);
  assert.deepEqual(claimConditions, claimConditionTypes, "94");
  const { compositionRevisionRef } = xr["spec"] as { readonly compositionRevisionRef: { readonly name: string } };
  await hasEvents(xr, [
    "Normal SelectComposition: Successfully selected composition: app",
    `Normal SelectComposition: Selected composition revision: ${compositionRevisionRef.name}`,
    `Warning ImageNotFound: ${fatal}`,
    'Warning ImageNotFound: Pipeline step "deploy-app": Check the image name and your pull permissions.',
  ]);
  await hasEvents(bound, [
    "Normal BindCompositeResource: Successfully bound composite resource",
    "Normal BindCompositeResource: Composite resource is not yet ready",
    "Warning ImageNotFound: manifest for team/app:v9 not found",
    "Warning ImageNotFound: Check the image name and your pull permissions.",
  ]);
  const all = [...(await plane.events(xr)), ...(await plane.events(bound))];
  assert.ok(!all.some((text) => text.includes("after the fatal")), "results after a fatal one are dropped");
});

/** Events are written a moment after the change that they report. */
async function hasEvents(object: KubeObject, wanted: readonly string[]): Promise<void> {
  for (const text of wanted) {
    await eventually(
      `the event ${text}`,
      async () => (await plane.events(object)).includes(text),
      () => "",
    );
  }
}

test("the app is rolling out", async () => {
  await plane.apply(claim("team/app:v1"));
  const [bound, xr] = await both("AppReady says Creating", said("AppReady", "Creating"));
  const appCreating = { type: "AppReady", status: "False", reason: "Creating", message: waitingMessage };
  const unready = { type: "Ready", status: "False", reason: "Creating", message: "Unready resources: app" };
  assert.deepEqual(conditionsOf(xr), [appCreating, databaseReady, imageReady, unready, responsive, synced]);
  assert.deepEqual(conditionsOf(bound), [appCreating, databaseReady, imageReady, waiting, synced]);
  assert.equal((bound["status"] as { readonly url?: string }).url, "");
  const { claimConditions, claimConditionTypes } = xr["status"] as Record<string, unknown>;
  assert.deepEqual(claimConditionTypes, ["DatabaseReady", "ImageReady", "AppReady"]);
  assert.deepEqual(claimConditions, claimConditionTypes, "94");
  await hasEvents(xr, [
    'Normal ComposeResources: Pipeline step "deploy-app": Rolling out the app.',
    'Normal ComposeResources: Pipeline step "deploy-app": chart values resolved',
    'Normal ComposeResources: Composed resource "app" is not yet ready',
  ]);
  await hasEvents(bound, ["Normal ComposeResources: Rolling out the app."]);
  assert.ok(
    !(await plane.events(bound)).some((text) => text.includes("chart values")),
    "it targets the composite resource only",
  );
});

test("the app is available", async () => {
  const [, before] = await both("it is rolling out", said("AppReady", "Creating"));
  await becomeAvailable(before);
  const [bound, xr] = await both("the claim is ready", said("Ready", "Available"));
  const appReady = { type: "AppReady", status: "True", reason: "Available" };
  const available = { type: "Ready", status: "True", reason: "Available" };
  assert.deepEqual(conditionsOf(xr), [appReady, databaseReady, imageReady, available, responsive, synced]);
  assert.deepEqual(conditionsOf(bound), [appReady, databaseReady, imageReady, available, synced]);
  assert.equal((bound["status"] as { readonly url?: string }).url, "https://web.example.org");
  await hasEvents(bound, ["Normal ComposeResources: The app is available."]);
  await rendersAsApplied(plane.users, xrType, { name: xr.metadata.name ?? "" });
});

/** What the Deployment's controller would do. */
async function becomeAvailable(xr: KubeObject): Promise<void> {
  const { resourceRefs } = xr["spec"] as { readonly resourceRefs: readonly { readonly name: string }[] };
  const key = { namespace, name: resourceRefs[0]?.name ?? "" };
  const made = await plane.get(deploymentType, key);
  const condition = { type: "Available", status: "True", reason: "MinimumReplicasAvailable" };
  await plane.users.update({ ...made, status: { conditions: [condition] } }, { subresource: "status" });
}

test("a relapse leaves what was ready, and reports what is unknown", async () => {
  await plane.apply(claim("team/app:relapse"));
  const [bound, xr] = await both("DatabaseReady is unknown", said("DatabaseReady", "FatalError"));
  const unknown = (type: string) => ({
    type,
    status: "Unknown",
    reason: "FatalError",
    message: "A fatal error occurred before the status of this condition could be determined.",
  });
  const second = { type: "ImageReady", status: "Unknown", reason: "Second" };
  const available = { type: "Ready", status: "True", reason: "Available" };
  const fatal = 'cannot compose resources: pipeline step "deploy-app" returned a fatal result: boom';
  assert.deepEqual(conditionsOf(xr), [
    unknown("AppReady"),
    unknown("DatabaseReady"),
    second,
    available,
    responsive,
    { type: "Synced", status: "False", reason: "ReconcileError", message: fatal },
  ]);
  assert.deepEqual(conditionsOf(bound), [unknown("AppReady"), unknown("DatabaseReady"), second, available, synced]);
  await hasEvents(xr, [`Warning ReconcileError: ${fatal}`]);
  assert.ok(!(await plane.events(bound)).some((text) => text.includes("boom")), "it was not for the claim");
});

test("a claim that is deleted takes its composite resource and all it composed with it", async () => {
  const bound = await plane.get(claimType, web);
  const xr = await xrOf(bound);
  const { resourceRefs } = xr["spec"] as { readonly resourceRefs: readonly { readonly name: string }[] };
  await plane.users.delete({ ...claimType, ...web });
  await plane.gone(claimType, web);
  await plane.gone(xrType, { name: xr.metadata.name ?? "" });
  await plane.gone(deploymentType, { namespace, name: resourceRefs[0]?.name ?? "" });
});
