// SPDX-License-Identifier: Apache-2.0
import { type ControllerClient, ReconcileError } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, textAt } from "@purlin/kube-objects/object";
import { selectImageConfig } from "../../fetch/package-request.ts";
import { numberOf } from "../../manager/package-revision.ts";
import { otherKinds, packageLabels } from "../../package-kinds.ts";
import type { RuntimeContext } from "../package-runtime.ts";
import {
  fixedName,
  type KubernetesRuntimeOptions,
  type ObjectPlace,
  type RuntimeNames,
  runtimeKinds,
  runtimeNames,
  templatedMetadata,
} from "./runtime-names.ts";

/** One revision and the inputs of its runtime objects. */
export interface RuntimeScene extends RuntimeContext {
  readonly options: KubernetesRuntimeOptions;
  readonly config: JsonObject;
  /** The ImageConfig that chose the runtime config. */
  readonly imageConfig: string | undefined;
  readonly names: RuntimeNames;
  /** The other Active revisions of the package. */
  readonly siblings: readonly KubeObject[];
}

/** Reads the inputs of a revision. Throws errors that a user has to correct. */
export async function openScene(options: KubernetesRuntimeOptions, context: RuntimeContext): Promise<RuntimeScene> {
  const { type, revision, signal } = context;
  const { config, imageConfig } = await findRuntimeConfig(options.client, revision, signal);
  const names = runtimeNames(type, revision, config);
  const labels = { [packageLabels.package]: names.package };
  const revisions = await options.client.list(type.revision, { labels, signal });
  const siblings = revisions.filter((one) => isActive(one) && one.metadata.name !== revision.metadata.name);
  const scene = { ...context, options, config, imageConfig, names, siblings };
  refuseSharedNames(scene);
  return scene;
}

/** Whether a revision is to run. */
export function isActive(revision: KubeObject): boolean {
  return textAt(revision, ["spec", "desiredState"]) === "Active";
}

/** A name of a template is the same for each revision, so only one of them can have it. */
function refuseSharedNames({ config, names, siblings }: RuntimeScene): void {
  if (!names.isPerRevision || siblings.length === 0) return;
  for (const template of ["deploymentTemplate", "serviceTemplate"] as const) {
    const name = fixedName(config, template);
    if (name === undefined) continue;
    const others = siblings.map(({ metadata }) => metadata.name).join(", ");
    throw new Error(
      `the runtime config names its ${template.replace("Template", "")} "${name}", and ${others} would share it: ` +
        `take spec.${template}.metadata.name out, or have one revision active`,
    );
  }
}

/** The pull secrets of the Pods and of their account. */
export async function pullSecrets(
  scene: RuntimeScene,
): Promise<{ pods: readonly string[]; account: readonly string[] }> {
  const own = pullSecretsOf(scene.revision, ["spec", "packagePullSecrets"]);
  const [configured, inherited] = [await secretOfImageConfig(scene), await secretsOfControlPlane(scene)];
  return { pods: [...own, ...configured], account: [...own, ...inherited] };
}

async function secretOfImageConfig({ options, revision, signal }: RuntimeScene): Promise<readonly string[]> {
  const applied = (revision["status"] as { appliedImageConfigRefs?: unknown } | undefined)?.appliedImageConfigRefs;
  const found = (Array.isArray(applied) ? applied : []).find(
    (one: unknown) => isJsonObject(one) && one["reason"] === "SetImagePullSecret",
  ) as { readonly name?: string } | undefined;
  if (found?.name === undefined) return [];
  const config = await options.client.get(otherKinds.imageConfig, { name: found.name }, { signal });
  if (config === undefined) {
    const message = `cannot get ImageConfig "${found.name}" for its pull secret: not found`;
    throw new ReconcileError("FetchResolvedImageConfig", message, undefined);
  }
  return [textAt(config, ["spec", "registry", "authentication", "pullSecretRef", "name"]) ?? []].flat();
}

async function secretsOfControlPlane({ options, signal }: RuntimeScene): Promise<readonly string[]> {
  const { objects, namespace, serviceAccount: name } = options;
  if (name === undefined) return [];
  const what = `cannot get ServiceAccount "${namespace}/${name}", the control plane's own`;
  const account = await during(what, () => objects.get(otherKinds.serviceAccount, { namespace, name }, { signal }));
  if (account === undefined) throw new Error(`${what}: not found`);
  return pullSecretsOf(account);
}

/** Higher numbers are newer. */
export function isNewer(a: KubeObject, b: KubeObject): boolean {
  return numberOf(a) > numberOf(b);
}

/** The runtime config of a revision. */
interface ChosenRuntimeConfig {
  /** Its `spec`. */
  readonly config: JsonObject;
  /** The ImageConfig that chose it, where one did. */
  readonly imageConfig: string | undefined;
}

/** The default runtime config. */
export const defaultRuntimeConfig: KubeObject = {
  ...otherKinds.runtimeConfig,
  metadata: { name: "default" },
  spec: {},
};

/** Finds the runtime config of a revision: the one an ImageConfig names for its image, or else its own. */
async function findRuntimeConfig(
  client: ControllerClient,
  revision: KubeObject,
  signal: AbortSignal,
): Promise<ChosenRuntimeConfig> {
  const image = textAt(revision, ["status", "resolvedImage"]);
  const configs = image === undefined ? [] : await client.list(otherKinds.imageConfig, { signal });
  const chosen = image === undefined ? undefined : selectImageConfig(configs, image, "ConfigureRuntime")?.config;
  const reference = chosen
    ? memberAt(chosen, ["spec", "runtime", "configRef"])
    : memberAt(revision, ["spec", "runtimeConfigRef"]);
  const name = nameIn(reference);
  const found = await client.get(otherKinds.runtimeConfig, { name }, { signal });
  if (found === undefined) throw new Error(`cannot get DeploymentRuntimeConfig "${name}": not found; create it`);
  return { config: objectAt(found, ["spec"]), imageConfig: chosen?.metadata.name };
}

function nameIn(reference: unknown): string {
  const name = isJsonObject(reference) ? textAt(reference, ["name"]) : undefined;
  if (!isJsonObject(reference) || name === undefined) {
    throw new Error("no runtime config: the revision's spec.runtimeConfigRef is not set");
  }
  const { apiVersion, kind } = otherKinds.runtimeConfig;
  const [given, givenKind] = [textAt(reference, ["apiVersion"]) ?? apiVersion, textAt(reference, ["kind"]) ?? kind];
  // As shipped: one of the two may be anything.
  if (given !== apiVersion && givenKind !== kind) {
    throw new Error(`runtime config "${name}" is a ${givenKind} (${given}); only ${kind} (${apiVersion}) is known`);
  }
  return name;
}

/** The inputs of a ServiceAccount. */
interface ServiceAccountInput {
  /** `spec` of the runtime config. */
  readonly config: JsonObject;
  readonly place: ObjectPlace;
  /** The stored account: pull secrets that others added are kept. */
  readonly existing: KubeObject | undefined;
  readonly pullSecrets: readonly string[];
}

/** The ServiceAccount the Pods of a revision run as. */
export function serviceAccountOf({ config, place, existing, pullSecrets }: ServiceAccountInput): KubeObject {
  const names = new Set([...(existing === undefined ? [] : pullSecretsOf(existing)), ...pullSecrets]);
  return {
    ...runtimeKinds.serviceAccount,
    metadata: templatedMetadata(config, "serviceAccountTemplate", place),
    ...(names.size > 0 && { imagePullSecrets: [...names].map((name) => ({ name })) }),
  };
}

/** The names of the Secrets that an account, or a Pod, pulls images with. */
function pullSecretsOf(object: object, path: readonly string[] = ["imagePullSecrets"]): readonly string[] {
  const secrets = memberAt(object, path);
  if (!Array.isArray(secrets)) return [];
  return secrets.flatMap((one) => (isJsonObject(one) ? (textAt(one, ["name"]) ?? []) : []));
}
