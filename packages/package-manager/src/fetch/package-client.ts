// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { isJsonObject } from "@purlin/kube-objects/json";
import { memberAt, textAt } from "@purlin/kube-objects/object";
import {
  type ContentStore,
  type CredentialsFor,
  credentialsFromDockerConfig,
  firstCredentials,
  type ImageConfig,
  type ImageReference,
  OciError,
  type PackageContents,
  type Platform,
  type PulledImage,
  packageLayers,
  parseImageConfig,
  parsePackage,
  parseReference,
  parseRepository,
  platformText,
  pullImage,
  type RegistryClient,
  readPackageText,
  runtimeLabel,
} from "@purlin/oci";
import { otherKinds } from "../package-kinds.ts";
import {
  type AppliedImageConfig,
  applyImageConfigs,
  type PackageRequest,
  refuseUnverified,
} from "./package-request.ts";

/** Where pull secrets are read. */
export interface PullSecretSource {
  readonly client: Pick<ControllerClient, "get">;
  readonly namespace: string;
  /** The control plane's own account: its pull secrets count as well. */
  readonly serviceAccount?: string | undefined;
}

/** A reference resolved to a digest. */
export interface ResolvedPackage {
  /** After rewriting, as it is pulled and run. */
  readonly reference: ImageReference;
  readonly resolved: string;
  readonly digest: string;
  readonly applied: readonly AppliedImageConfig[];
  /** The pull secret an ImageConfig adds. */
  readonly pullSecret: string | undefined;
  /** The ImageConfig that demands signatures of it. */
  readonly verification: string | undefined;
}

/** Fetches packages: rewritten, authenticated, by digest, and kept. */
export interface PackageClient {
  /** A tag is looked up each time, whatever the policy, unless the digest behind it is pinned; a digest is taken as it is. */
  resolve(request: PackageRequest): Promise<ResolvedPackage>;
  /** The contents behind a digest. */
  contents(resolved: ResolvedPackage, request: PackageRequest): Promise<PackageContents>;
  /** The whole image of a digest, in the store, to be run. */
  image(resolved: ResolvedPackage, request: PackageRequest, platform: Platform): Promise<PulledImage>;
  /** The process configuration of an image, without fetching its layers. */
  config(resolved: ResolvedPackage, request: PackageRequest): Promise<ImageConfig>;
  /** The tags of a source, `registry/repository`. */
  tags(source: string, request: Omit<PackageRequest, "reference">): Promise<string[]>;
  /** Remembers for good which digest a revision is made of. */
  pin(revision: string, digest: string): Promise<void>;
}

/** The dependencies of a package client. */
interface PackageClientOptions extends PullSecretSource {
  readonly client: ControllerClient;
  readonly store: ContentStore;
  readonly registryClient: (credentials: CredentialsFor) => RegistryClient;
}

/** Package contents are the same on every platform; of several images this one is read. */
const contentPlatform: Platform = { os: "linux", architecture: "amd64" };
/** Packages of Providers are large: what is remembered is counted in characters of `package.yaml`. */
const rememberedCharacters = 64 * 1024 * 1024;
/** How long facts about registries are cached: one may start to serve TLS. */
const sharedMs = 60_000;

/** Makes a package client. */
export function createPackageClient(options: PackageClientOptions): PackageClient {
  const { client, store } = options;
  const parsed = createMemory<PackageContents>(rememberedCharacters);

  let shared: { readonly client: RegistryClient; readonly until: number } | undefined;

  async function registryFor(secrets: readonly string[], signal?: AbortSignal): Promise<RegistryClient> {
    if (secrets.length > 0 || options.serviceAccount !== undefined) {
      return options.registryClient(await readPullSecrets(options, secrets, signal));
    }
    // Without secrets one client serves all: it knows how each registry is reached, and has its tokens.
    if (shared === undefined || Date.now() > shared.until) {
      shared = { client: options.registryClient(() => undefined), until: Date.now() + sharedMs };
    }
    return shared.client;
  }

  async function rewritten(original: string, signal?: AbortSignal): Promise<ReturnType<typeof applyImageConfigs>> {
    const configs = await during("cannot get image configs", () => client.list(otherKinds.imageConfig, { signal }));
    return applyImageConfigs(configs, original);
  }

  return {
    async resolve(request) {
      const found = await rewritten(request.reference, request.signal);
      const { reference: resolved, applied, pullSecret, verification } = found;
      const reference = parseReference(resolved);
      const digest = request.pinned?.(resolved) ?? (await lookUp(reference, pullSecret, request));
      return { reference, resolved, digest, applied, pullSecret, verification };
    },
    async contents(resolved, request) {
      const known = parsed.get(resolved.digest);
      if (known !== undefined && request.pullPolicy !== "Always") return known;
      const image = await pull(resolved, request, { platform: contentPlatform, onlyPackage: true });
      const text = await readPackageText(image.manifest, store, request.reference);
      const contents = await parsePackage(text, `${request.reference}: package.yaml`);
      parsed.set(resolved.digest, contents, text.length);
      return contents;
    },
    async image(resolved, request, platform) {
      const image = await pull(resolved, request, { platform, onlyPackage: false });
      requirePlatform(parseImageConfig(await store.read(image.manifest.config), request.reference), platform, request);
      return image;
    },
    async config(resolved, request) {
      const { manifest } = await pull(resolved, request, { platform: contentPlatform, onlyPackage: true });
      return parseImageConfig(await store.read(manifest.config), request.reference);
    },
    async tags(source, request) {
      const { reference, pullSecret } = await rewritten(source, request.signal);
      const secrets = pullSecret === undefined ? request.pullSecrets : [...request.pullSecrets, pullSecret];
      return (await registryFor(secrets, request.signal)).tags(parseRepository(reference), request);
    },
    // This client keeps no pins.
    pin: async () => {},
  };

  async function lookUp(
    reference: ImageReference,
    pullSecret: string | undefined,
    request: PackageRequest,
  ): Promise<string> {
    const secrets = pullSecret === undefined ? request.pullSecrets : [...request.pullSecrets, pullSecret];
    return (await registryFor(secrets, request.signal)).resolve(reference, request);
  }

  async function pull(
    found: ResolvedPackage,
    request: PackageRequest,
    { platform, onlyPackage }: { readonly platform: Platform; readonly onlyPackage: boolean },
  ): Promise<PulledImage> {
    const { reference, digest, pullSecret } = found;
    if (!(await store.has(digest))) {
      if (request.pullPolicy === "Never") throw new Error("package not in cache and pull policy is Never");
      refuseUnverified(found);
    }
    const secrets = pullSecret === undefined ? request.pullSecrets : [...request.pullSecrets, pullSecret];
    const registry = await registryFor(secrets, request.signal);
    const layers = onlyPackage ? packageLayers : undefined;
    const preferStore = request.pullPolicy !== "Always";
    const pinned = { ...reference, digest };
    return pullImage(registry, store, {
      reference: pinned,
      options: { platform, layers, preferStore, signal: request.signal },
    });
  }
}

/** A single image may be for any platform. One that runs on Purlin's own Node runs wherever that does. */
function requirePlatform(config: ImageConfig, wanted: Platform, { reference }: PackageRequest): void {
  const isSame = config.os === wanted.os && config.architecture === wanted.architecture;
  const saysNothing = config.os === "" && config.architecture === "";
  if (isSame || saysNothing || config.labels[runtimeLabel] === "node") return;
  const problem = `${reference} is for ${platformText(config)}, and this machine is ${platformText(wanted)}`;
  throw new OciError("WRONG_PLATFORM", `${problem}; push one for that platform`);
}

/** The credentials that some pull secrets hold, those named first coming first. Absent ones are an error that names them. */
export async function readPullSecrets(
  source: PullSecretSource,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<CredentialsFor> {
  const inherited = await secretsOfAccount(source, signal);
  const found: CredentialsFor[] = [];
  for (const name of new Set([...names, ...inherited])) {
    const isRequired = names.includes(name);
    const secret = await readPullSecret(source, name, signal);
    if (secret !== undefined) found.push(secret);
    else if (isRequired) throw new Error(`cannot get pull secret: Secret "${name}" not found in ${source.namespace}`);
  }
  return firstCredentials(found);
}

async function readPullSecret(
  { client, namespace }: PullSecretSource,
  name: string,
  signal: AbortSignal | undefined,
): Promise<CredentialsFor | undefined> {
  const secret = await client.get(otherKinds.secret, { namespace, name }, { signal });
  if (secret === undefined) return undefined;
  const where = `Secret ${namespace}/${name}`;
  const current = textAt(secret, ["data", ".dockerconfigjson"]);
  if (current !== undefined) return credentialsFromDockerConfig(decode(current), where);
  const old = textAt(secret, ["data", ".dockercfg"]);
  if (old !== undefined) return credentialsFromDockerConfig(`{"auths":${decode(old)}}`, where);
  throw new Error(`${where}: a pull secret holds .dockerconfigjson; this one does not`);
}

function decode(text: string): string {
  return Buffer.from(text, "base64").toString("utf8");
}

async function secretsOfAccount(source: PullSecretSource, signal: AbortSignal | undefined): Promise<string[]> {
  const { client, namespace, serviceAccount } = source;
  if (serviceAccount === undefined) return [];
  const account = await client.get(otherKinds.serviceAccount, { namespace, name: serviceAccount }, { signal });
  const secrets = account && memberAt(account, ["imagePullSecrets"]);
  if (!Array.isArray(secrets)) return [];
  return secrets.flatMap((one) => (isJsonObject(one) && typeof one["name"] === "string" ? [one["name"]] : []));
}

/** Remembers the values used last. */
interface Memory<T> {
  get(key: string): T | undefined;
  /** The weight of a value; 1 unless given. */
  set(key: string, value: T, weight?: number): void;
}

/** Makes a cache for this total weight. The value that was set last is kept, whatever it weighs. */
export function createMemory<T>(maxWeight: number): Memory<T> {
  const values = new Map<string, { readonly value: T; readonly weight: number }>();
  let total = 0;
  const forget = (key: string): void => {
    total -= values.get(key)?.weight ?? 0;
    values.delete(key);
  };
  return {
    get(key) {
      const found = values.get(key);
      if (found === undefined) return undefined;
      values.delete(key);
      values.set(key, found);
      return found.value;
    },
    set(key, value, weight = 1) {
      forget(key);
      values.set(key, { value, weight });
      total += weight;
      for (const oldest of values.keys()) {
        if (total <= maxWeight || oldest === key) break;
        forget(oldest);
      }
    },
  };
}
