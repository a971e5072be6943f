// SPDX-License-Identifier: Apache-2.0

import { readFile } from "node:fs/promises";
import {
  type EgressSupport,
  type FunctionProcess,
  limitsOfRuntimeConfig,
  providerApiPort,
  type SandboxSupport,
} from "@purlin/function-process";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, textAt } from "@purlin/kube-objects/object";
import { type ImageConfig, parseImageConfig, runtimeLabel } from "@purlin/oci";
import { referenceOfRevision, requestOf } from "../../fetch/package-request.ts";
import { otherKinds } from "../../package-kinds.ts";
import { deploymentOf } from "../kubernetes/deployment.ts";
import { type RuntimeNames, runtimeNames } from "../kubernetes/runtime-names.ts";
import { serviceAccountOf } from "../kubernetes/runtime-scene.ts";
import { runtimeFieldManager } from "../owned-objects.ts";
import type { RuntimeContext } from "../package-runtime.ts";
import { socketOf } from "../process-runtime.ts";
import { type PodProcess, podProcess, podTemplateOf } from "./pod-process.ts";
import { accountFolder, type ProviderFiles } from "./provider-files.ts";
import { type ProviderHost, type ProviderRuntimeOptions, runtimeConfigOf, secretsOf } from "./provider-host.ts";
import { applyProviderRoles, type ProviderAccount } from "./provider-roles.ts";

/** A Provider that was started, and what its condition says about how it runs. */
interface StartedProvider {
  readonly process: FunctionProcess;
  /** How long until its token is to be replaced. */
  readonly renewInMs: number;
  readonly notices: readonly string[];
  /** The name of its Service. */
  readonly service: string;
  readonly account: ProviderAccount;
}

/** Starts a Provider, or leaves it running where nothing changed: its account, its rights and credentials, then its process. */
export async function startProvider(
  options: ProviderRuntimeOptions,
  files: ProviderFiles,
  context: RuntimeContext,
): Promise<StartedProvider> {
  const { client, processes, sandbox, namespace, sockets } = options;
  const { type, revision, signal } = context;
  const name = revision.metadata.name ?? "";
  const config = await runtimeConfigOf(client, revision, signal);
  const names = runtimeNames(type, revision, config);
  const { digest, root, image } = await imageOf(options, context);
  const pod = podTemplateOf(templateOf(context, names, { config, namespace }));
  const found = await podProcess(pod, image.process, { client, namespace, signal });
  const account = await ensureAccount(options, context, {
    names,
    config,
    name: textAt(pod.spec, ["serviceAccountName"]),
  });
  await applyProviderRoles(options, { type, revision, account }, signal);
  const renewInMs = await files.account(name, account, await boundSecret(options, name, signal));
  const support = await options.egress();
  const isPrivate = support.isSupported && (sandbox.isSupported || sandbox.network !== undefined);
  const egress = isPrivate ? { kind: support.kind, path: support.path } : undefined;
  const api = isPrivate ? { host: "127.0.0.1", port: providerApiPort } : options.api;
  const process = processes.run({
    name,
    functionName: names.package,
    cwd: "/",
    limits: limitsOfRuntimeConfig(config),
    program: {
      kind: "image",
      root,
      process: found.process,
      needsNode: image.labels[runtimeLabel] === "node",
      env: {
        ...found.env,
        KUBERNETES_SERVICE_HOST: api.host,
        KUBERNETES_SERVICE_PORT: String(api.port),
        ...(!sandbox.isSupported && { KUBECONFIG: await writeKubeconfig(files, name, api) }),
      },
      sandbox: sandbox.isSupported
        ? { program: sandbox.program, canDisableUserns: sandbox.canDisableUserns }
        : undefined,
      network: sandbox.isSupported ? undefined : sandbox.network,
      socket: socketOf(sockets, [name, digest]),
      provider: { ...(await volumesOf(files, name, found)), api: options.api, egress },
    },
  });
  return { process, renewInMs, notices: noticesOf(sandbox, support, found), service: names.package, account };
}

async function imageOf(
  { packages, store, roots, platform }: ProviderRuntimeOptions,
  { revision, signal }: RuntimeContext,
): Promise<{ readonly digest: string; readonly root: string; readonly image: ImageConfig }> {
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  const pulled = await packages.image(await packages.resolve(request), request, platform);
  const [stored, root] = await Promise.all([store.read(pulled.manifest.config), roots.rootOf(pulled)]);
  return { digest: pulled.manifestDigest, root, image: parseImageConfig(stored, request.reference) };
}

/** The Deployment that would run the revision on a cluster: it says what to run here. */
function templateOf(
  { type, revision }: RuntimeContext,
  names: RuntimeNames,
  { config, namespace }: { readonly config: JsonObject; readonly namespace: string },
): ReturnType<typeof deploymentOf> {
  const place = { name: names.deployment, namespace, owner: controllerReference(revision) };
  return deploymentOf({ type, revision, names, config, place, image: "", pullSecrets: [] });
}

interface AccountInput {
  readonly names: RuntimeNames;
  readonly config: JsonObject;
  /** The account that the Pod template names. */
  readonly name: string | undefined;
}

/** Creates the account of the revision. Another account that the Pod template names must exist. */
async function ensureAccount(
  { client, namespace }: ProviderRuntimeOptions,
  { revision, signal }: RuntimeContext,
  { names, config, name = names.serviceAccount }: AccountInput,
): Promise<ProviderAccount> {
  if (name === names.serviceAccount) {
    const place = { name, namespace, owner: controllerReference(revision) };
    const account = serviceAccountOf({ config, place, existing: undefined, pullSecrets: [] });
    await client.applyIfChanged(account, { fieldManager: runtimeFieldManager, force: true, signal });
  } else if ((await client.get(otherKinds.serviceAccount, { namespace, name }, { signal })) === undefined) {
    throw new Error(`ServiceAccount "${namespace}/${name}" not found, which the runtime config names: create it`);
  }
  return { namespace, name };
}

/** Tokens of a revision are bound to its certificate, which is deleted when the revision is no longer active. */
async function boundSecret(
  { client, namespace }: ProviderRuntimeOptions,
  revision: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly uid: string }> {
  const { server: name } = secretsOf(revision);
  const secret = await client.get(otherKinds.secret, { namespace, name }, { signal });
  if (secret === undefined) throw new Error(`Secret "${namespace}/${name}" not found; retrying`);
  return { name, uid: secret.metadata.uid ?? "" };
}

async function volumesOf(
  files: ProviderFiles,
  revision: string,
  { volumes }: PodProcess,
): Promise<{ readonly folders: Record<string, string>; readonly scratch: readonly string[] }> {
  const folders: Record<string, string> = {
    [accountFolder]: files.folder(revision, "serviceaccount"),
    "/tls/client": files.folder(revision, "client"),
  };
  for (const [at, { mountPath, files: contents }] of volumes.entries()) {
    if (contents !== undefined) folders[mountPath] = await files.volume(revision, String(at), contents);
  }
  return { folders, scratch: volumes.filter((one) => one.files === undefined).map(({ mountPath }) => mountPath) };
}

/**
 * For clients that run without a sandbox, which cannot find their credentials where a Pod has them. Clients that know `tokenFile` prefer it;
 * kopf, for one, only knows `token`, and reads the file again when its token is refused.
 */
async function writeKubeconfig(files: ProviderFiles, revision: string, api: ProviderHost["api"]): Promise<string> {
  const tokenFile = files.folder(revision, "serviceaccount/token");
  const token = await readFile(tokenFile, "utf8");
  const authority = { "certificate-authority": files.folder(revision, "serviceaccount/ca.crt") };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "provider",
    clusters: [{ name: "control-plane", cluster: { server: `https://${api.host}:${api.port}`, ...authority } }],
    users: [{ name: revision, user: { token, tokenFile } }],
    contexts: [{ name: "provider", context: { cluster: "control-plane", user: revision } }],
  };
  return files.write(revision, "kubeconfig", JSON.stringify(config));
}

const install = "install pasta (Debian: apt-get install passt) for a private one";

function noticesOf(sandbox: SandboxSupport, egress: EgressSupport, { ignored }: PodProcess): readonly string[] {
  const bare = `the provider runs without a sandbox and finds the API server by KUBECONFIG, not at ${accountFolder}`;
  return [
    ...(sandbox.isSupported ? [] : [`${bare}: ${sandbox.reason}`]),
    ...(egress.isSupported ? [] : [`the provider shares the network of this machine: ${egress.reason}; ${install}`]),
    ...ignored.map((what) => `${what} of the runtime config have no effect on one machine`),
  ];
}
