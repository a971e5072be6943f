// SPDX-License-Identifier: Apache-2.0

import { createRetirements, type Retirements } from "@purlin/function-process";
import type { CacheChange } from "@purlin/kube-client";
import type { WatchSpec } from "@purlin/kube-controller";
import { isJsonObject, printJson } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  controllerReference,
  type KubeObject,
  labelOf,
  memberAt,
  numberAt,
  type ObjectKey,
  textAt,
} from "@purlin/kube-objects/object";
import { type PackageKind, runtimeLabel } from "@purlin/oci";
import { createMemory, type PackageClient } from "../../fetch/package-client.ts";
import { concernsPulling, longestPrefix, referenceOfRevision, requestOf } from "../../fetch/package-request.ts";
import { otherKinds, type PackageType, packageLabels } from "../../package-kinds.ts";
import { type CertificateDeps, ensureLeaf, type Leaf } from "../certificates/certificate-secrets.ts";
import { deleteExactly, type Ownership, ownedObjects, retire, secretsInUse } from "../owned-objects.ts";
import type { PackageRuntime, RuntimeReport } from "../package-runtime.ts";
import { applyDeployment } from "./deployment.ts";
import { endpointOf, type KubernetesRuntimeOptions, serverNames } from "./runtime-names.ts";
import { openScene, type RuntimeScene } from "./runtime-scene.ts";
import { applyAlias, applyService } from "./shared-service.ts";

/** The certificates of a revision. */
interface RevisionCertificates {
  /** Changes when any of them is renewed; undefined while all are the first. */
  readonly mark: string | undefined;
  /** How long until one is to be renewed; undefined when another tool renews it. */
  readonly renewInMs: number | undefined;
}

/** The state of a Deployment. */
interface DeploymentState {
  /** Why it does not serve; undefined while it does. */
  readonly problem: string | undefined;
  /** Whether Kubernetes reports it as unavailable; otherwise there is no report yet. */
  readonly isBroken: boolean;
  /** It serves, with Pods of the newest or of the previous template. */
  readonly isServing: boolean;
  /** No Pod of a previous template is left. */
  readonly isRolledOut: boolean;
}

const defaultLingerMs = 5_000;
/** How often an unavailable Deployment is reconciled, beside its own watch events. */
const lookAgainMs = 30_000;
/** Timers are for days, not for months. */
const longestWaitMs = 3_600_000;

/** Runs packages on a cluster: a Deployment for each active revision, with Service, ServiceAccount and certificates. */
export function createKubernetesRuntime(options: KubernetesRuntimeOptions): PackageRuntime {
  const { clock, lingerMs = defaultLingerMs, leases } = options;
  const retirements = createRetirements({ clock, lingerMs, leases });
  // Objects under former names: the revision itself stays in use, so only the linger time counts.
  const leftovers = createRetirements({ clock, lingerMs });
  const requireRunnable = createRunnableCheck(options.packages);
  return {
    async prepare(context) {
      const scene = await openScene(options, context);
      const isInCharge = await applyService(scene, false);
      await ensureCertificates(scene, isInCharge);
      const { serverSecret, clientSecret } = scene.names;
      const { imageConfig } = scene;
      return { tlsServerSecretName: serverSecret, tlsClientSecretName: clientSecret, imageConfig };
    },
    async run(context) {
      retirements.forget(context.revision.metadata.name ?? "");
      const scene = await openScene(options, context);
      await requireRunnable(context.revision, context.signal);
      return run(scene, leftovers);
    },
    async hold(context) {
      const scene = await openScene(options, context);
      await requireRunnable(context.revision, context.signal);
      const isInCharge = await applyService(scene, false);
      const { mark } = await ensureCertificates(scene, isInCharge);
      await applyDeployment(scene, mark, 0);
    },
    retire(context) {
      leftovers.forget(context.revision.metadata.name ?? "");
      return retire(options, context, retirements);
    },
    watches: kubernetesWatches,
  };
}

async function run(scene: RuntimeScene, leftovers: Retirements): Promise<RuntimeReport> {
  const isInCharge = await applyService(scene, false);
  const { mark, renewInMs } = await ensureCertificates(scene, isInCharge);
  const deployment = await applyDeployment(scene, mark);
  const state = deploymentState(deployment, scene.type.kind);
  if (state.problem !== undefined) {
    const { problem: message, isBroken: isProblem } = state;
    return { isHealthy: false, message, isProblem, requeueAfterMs: lookAgainMs };
  }
  const endpoint = await publish(scene, state);
  const leftoversMs = state.isRolledOut ? await dropLeftovers(scene, leftovers) : undefined;
  const requeueAfterMs = Math.min(renewInMs ?? longestWaitMs, leftoversMs ?? longestWaitMs, longestWaitMs);
  return { isHealthy: true, endpoint, requeueAfterMs };
}

/**
 * The endpoint of the function. It is published when the function answers; an earlier endpoint stays until the new Deployment
 * is rolled out completely.
 */
async function publish(scene: RuntimeScene, state: DeploymentState): Promise<string | undefined> {
  const { type, options, revision, names } = scene;
  if (!state.isServing) return undefined;
  const isReached = await applyService(scene, true);
  // The certificate belongs to the serving revision: it must not be collected with the previous one.
  if (isReached) await ensureCertificates(scene, true);
  if (type.kind !== "Function" || !isReached) return undefined;
  const wanted = endpointOf(names.service, options.namespace);
  const published = textAt(revision, ["status", "endpoint"]);
  if (published !== undefined && published !== wanted && !state.isRolledOut) return undefined;
  await applyAlias(scene);
  return wanted;
}

/**
 * Deletes the objects that a revision had under other names, once no caller is sent there: its endpoint is the new one, and
 * a while has passed. Resolves to the time until the next attempt when it is too early.
 */
async function dropLeftovers(scene: RuntimeScene, retirements: Retirements): Promise<number | undefined> {
  const { options, revision, names, signal } = scene;
  const published = textAt(revision, ["status", "endpoint"]);
  if (scene.type.kind === "Function" && published !== endpointOf(names.service, options.namespace)) return undefined;
  const { uid, name = "" } = revision.metadata;
  const ownership: Ownership = { objects: options.objects, namespace: options.namespace, uid, signal };
  const services = (await ownedObjects(ownership, "service")).filter(({ metadata }) => metadata.name !== names.service);
  const needed = await secretsInUse(options, scene);
  const secrets = (await ownedObjects(ownership, "secret")).filter(({ metadata }) => !needed.has(metadata.name ?? ""));
  const deployments = (await ownedObjects(ownership, "deployment")).filter(
    ({ metadata }) => metadata.name !== names.deployment,
  );
  const leftovers = [...services, ...secrets, ...deployments];
  if (leftovers.length === 0) {
    retirements.forget(name);
    return undefined;
  }
  const waitMs = retirements.waitMs(name);
  if (waitMs > 0) return waitMs;
  for (const object of leftovers) await deleteExactly(ownership, object);
  retirements.forget(name);
  return undefined;
}

/** Reads the status that Kubernetes gave a Deployment. */
export function deploymentState(deployment: KubeObject, kind: PackageKind): DeploymentState {
  const what = `${kind.toLowerCase()} package deployment`;
  const { status, message } = conditionOf(conditionsOf(deployment), "Available");
  const isSeen = numberAt(deployment, ["status", "observedGeneration"]) >= (deployment.metadata.generation ?? 0);
  if (status !== "True") {
    const isReported = conditionsOf(deployment).some(({ type }) => type === "Available");
    const problem = isReported
      ? `${what} is unavailable with message: ${message ?? ""}`
      : `${what} has no condition of type "Available" yet`;
    return { problem, isBroken: isReported, isServing: false, isRolledOut: false };
  }
  const wanted = numberAt(deployment, ["spec", "replicas"]);
  const [updated, all] = [
    numberAt(deployment, ["status", "updatedReplicas"]),
    numberAt(deployment, ["status", "replicas"]),
  ];
  return {
    problem: undefined,
    isBroken: false,
    isServing: isSeen,
    isRolledOut: isSeen && updated >= wanted && all <= updated,
  };
}

/**
 * Ensures the certificates of a revision. The Secret may be shared by all revisions of a package; then it
 * belongs to the one in charge.
 */
async function ensureCertificates(scene: RuntimeScene, isInCharge: boolean): Promise<RevisionCertificates> {
  const { options, revision, names, signal } = scene;
  const { objects: client, namespace, clock, certificateDays: days } = options;
  const ports: CertificateDeps = { client, namespace, clock, days };
  const owner = isInCharge ? controllerReference(revision) : undefined;
  const leaves: Leaf[] = [];
  const dnsNames = serverNames(names, namespace);
  const server = {
    secretName: names.serverSecret,
    commonName: names.service,
    dnsNames,
    usage: "server",
    owner,
  } as const;
  leaves.push(await ensureLeaf(ports, server, signal));
  if (names.clientSecret !== undefined) {
    const name = revision.metadata.name ?? "";
    const request = { commonName: name, dnsNames: [name], usage: "client", owner } as const;
    leaves.push(await ensureLeaf(ports, { secretName: names.clientSecret, ...request }, signal));
  }
  const marks = leaves.flatMap(({ mark }) => mark ?? []);
  const times = leaves.flatMap(({ renewInMs }) => renewInMs ?? []);
  return {
    mark: marks.length > 0 ? marks.join("-") : undefined,
    renewInMs: times.length > 0 ? Math.min(...times) : undefined,
  };
}

const remembered = 256;

/**
 * Refuses images that cannot run on a cluster: a TypeScript function without a base runs on the Node of Purlin itself,
 * which a cluster does not have. Each image is checked once; an image that cannot be read now is accepted.
 */
function createRunnableCheck(packages: PackageClient): (revision: KubeObject, signal: AbortSignal) => Promise<void> {
  const needsNode = createMemory<boolean>(remembered);
  return async (revision, signal) => {
    const reference = referenceOfRevision(revision);
    const key = `${revision.metadata.uid ?? ""} ${textAt(revision, ["status", "resolvedImage"]) ?? ""}`;
    let isBare = needsNode.get(key);
    if (isBare === undefined) {
      isBare = await lacksNode(packages, revision, signal);
      if (isBare !== undefined) needsNode.set(key, isBare);
    }
    if (isBare !== true) return;
    throw new Error(
      `${reference} brings no Node to run on, and a cluster has none: build it with a base that does, ` +
        "such as: purlin xpkg build -f package --function src/function.ts --base registry.example.org/library/node:22-slim",
    );
  };
}

async function lacksNode(
  packages: PackageClient,
  revision: KubeObject,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  try {
    const { labels } = await packages.config(await packages.resolve(request), request);
    return labels[runtimeLabel] === "node";
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

type All = () => readonly KubeObject[];

/** The watches of the runtime of a revision, beside the revision and its objects. */
export function kubernetesWatches(type: PackageType, all: All): readonly WatchSpec[] {
  return [
    { type: "Sibling", object: type.revision, keys: (change) => siblingsOf(change, all) },
    { type: "ImageConfig", object: otherKinds.imageConfig, keys: (change) => matchedBy(change, all) },
    {
      type: "DeploymentRuntimeConfig",
      object: otherKinds.runtimeConfig,
      keys: ({ object }) => configuredBy(object, all),
    },
  ];
}

/** Revisions of a package depend on each other: number, state and readiness decide which is in charge. */
function siblingsOf(change: CacheChange, all: All): ObjectKey[] {
  const { object } = change;
  if (change.type === "updated" && standing(change.previous) === standing(object)) return [];
  const owner = labelOf(object, packageLabels.package);
  const siblings = all().filter((one) => labelOf(one, packageLabels.package) === owner);
  return keysOf(siblings.filter(({ metadata }) => metadata.name !== object.metadata.name));
}

function standing(revision: KubeObject): string {
  const paths = [
    ["spec", "desiredState"],
    ["spec", "revision"],
    ["status", "endpoint"],
    ["spec", "tlsServerSecretName"],
  ];
  return printJson(paths.map((path) => memberAt(revision, path) ?? null));
}

/** Revisions whose image the ImageConfig matches now, or did before, if it configures how they are pulled or run. */
function matchedBy(change: CacheChange, all: All): ObjectKey[] {
  const configs = change.type === "updated" ? [change.previous, change.object] : [change.object];
  const relevant = configs.filter((config) => concernsPulling(config) || configuresRuntime(config));
  if (relevant.length === 0) return [];
  const matched = all().filter((revision) => {
    const images = [textAt(revision, ["status", "resolvedImage"]), textAt(revision, ["spec", "image"])];
    return relevant.some((config) =>
      images.some((image) => image !== undefined && longestPrefix(config, image) !== undefined),
    );
  });
  return keysOf(matched);
}

function configuresRuntime(config: KubeObject): boolean {
  return memberAt(config, ["spec", "runtime", "configRef"]) !== undefined;
}

/** Revisions that name the config, and those for which an ImageConfig does. */
function configuredBy({ metadata }: KubeObject, all: All): ObjectKey[] {
  return keysOf(
    all().filter(
      (revision) =>
        textAt(revision, ["spec", "runtimeConfigRef", "name"]) === metadata.name || isConfiguredByImage(revision),
    ),
  );
}

function isConfiguredByImage(revision: KubeObject): boolean {
  const applied = memberAt(revision, ["status", "appliedImageConfigRefs"]);
  return Array.isArray(applied) && applied.some((one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime");
}

function keysOf(objects: readonly KubeObject[]): ObjectKey[] {
  return objects.map(({ metadata }) => ({ name: metadata.name ?? "" }));
}
