// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { attempt } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import { annotationOf, type KubeObject, textAt } from "@purlin/kube-objects/object";
import type { PackageContents } from "@purlin/oci";
import { establish, type ObjectReference, release } from "../establish/establish.ts";
import { convertCrds, isActiveDefinition, startsSafely, type WebhookClient } from "../establish/package-objects.ts";
import { otherKinds, packageLabels } from "../package-kinds.ts";
import { renewedAnnotation } from "../runtime/certificates/certificate-secrets.ts";
import { packageOf, type RevisionContext, steps } from "./revision-context.ts";

/** Installs the objects of the package. Resolves to their references. */
export function installObjects(
  context: RevisionContext,
  contents: PackageContents,
): Promise<readonly ObjectReference[]> {
  const { client, revision, signal, type, established, maxConcurrentEstablishers: workers } = context;
  return attempt(steps.establish, async () => {
    const control = textAt(revision, ["spec", "desiredState"]) === "Active";
    const webhooks = control && type.hasRuntime ? await webhookClientOf(context) : undefined;
    // The CRDs of a Function document its input; there are no objects of them.
    const objects = type.kind === "Function" ? [] : converted(context, contents);
    const owner = await packageOf(context);
    const onCreated = (object: KubeObject): void => reportActivated(context, contents, object);
    const input = { client, revision, package: owner, objects, control, webhooks, established, workers, signal };
    return establish({ ...input, onCreated });
  });
}

/** The objects of the package; the CRDs of a Provider as managed resource definitions. */
function converted(context: RevisionContext, { objects, meta }: PackageContents): readonly KubeObject[] {
  const original = objects as readonly KubeObject[];
  if (context.type.kind !== "Provider" || context.features.managedResourceConversion !== true) return original;
  try {
    return convertCrds(original, meta.capabilities);
  } catch (error) {
    const message = `cannot convert CustomResourceDefinitions to ManagedResourceDefinitions: ${textOf(error)}`;
    context.emit({ type: "Warning", reason: "ConvertCRDToMRD", message });
    return original;
  }
}

/** Says why a definition is active although no policy matches it. */
function reportActivated({ events }: RevisionContext, { meta }: PackageContents, object: KubeObject): void {
  if (!isActiveDefinition(object) || startsSafely(meta.capabilities)) return;
  const message = "the package does not list safe-start";
  events.event(object, { type: "Normal", reason: "ActivatedByPackage", message });
}

/** How webhooks of the package are called. The runtime must have its certificate first, with or without webhooks. */
async function webhookClientOf(context: RevisionContext): Promise<WebhookClient> {
  const { client, revision, namespace, signal } = context;
  const name = await serverSecretOf(context);
  const waiting = "waiting for package runtime controller to set revision's webhook TLS secret";
  if (name === undefined) throw new Error(waiting);
  const secret = await client.get(otherKinds.secret, { namespace, name }, { signal });
  // While a renewed certificate reaches one Pod after the other, both it and the one before it must count: the authority's does.
  const isRenewed = secret !== undefined && annotationOf(secret, renewedAnnotation) !== undefined;
  const caBundle = secret && textAt(secret, ["data", isRenewed ? "ca.crt" : "tls.crt"]);
  if (caBundle === undefined) throw new Error(waiting);
  return { caBundle, service: revision.metadata.labels?.[packageLabels.package] ?? "", namespace };
}

/** The controller of the runtime reconciles a new revision at the same time, and is done a moment later: polls for half a second. */
const looks = 30;
const longestPauseMs = 25;

/** The newest name of the secret that the controller of the runtime wrote into the status. */
async function serverSecretOf({
  client,
  type,
  revision,
  hasRuntime,
  signal,
}: RevisionContext): Promise<string | undefined> {
  const isComing = type.kind !== "Configuration" && hasRuntime[type.kind];
  for (let left = isComing ? looks : 1; ; left--) {
    const current = await client.get(type.revision, { name: revision.metadata.name ?? "" }, { signal });
    const name = textAt(current ?? revision, ["status", "tlsServerSecretName"]);
    if (name !== undefined || left === 1) return name;
    await delay(Math.min(looks + 1 - left, longestPauseMs), undefined, { signal });
  }
}

/** Releases the objects of the revision, so that another one can take them. Resolves to their references. */
export async function releaseObjects(context: RevisionContext): Promise<readonly ObjectReference[]> {
  const { client, revision, signal, maxConcurrentEstablishers: workers } = context;
  const references = objectReferences(revision);
  if (references.length > 0) await release({ client, revision, workers, signal }, references);
  return references;
}

function objectReferences(revision: KubeObject): readonly ObjectReference[] {
  const references = (revision["status"] as { objectRefs?: ObjectReference[] } | undefined)?.objectRefs;
  return Array.isArray(references) ? references : [];
}
