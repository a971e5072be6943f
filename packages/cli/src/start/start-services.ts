// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Log, systemClock } from "@purlin/base";
import {
  type ClusterPackageOptions,
  type ClusterPackages,
  openClusterPackages,
  type PackageRuntimeMode,
  removeUsageWebhook,
  startUsageWebhook,
  type UsageWebhook,
} from "@purlin/control-plane";
import type { KubeClient } from "@purlin/kube-client";
import { readTextSync } from "../files/read-text.ts";
import { makeFolder, whyNoFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { secureCacheDir } from "../project/secure-data-dir.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { dependencyVersions, portOption, revisionFeatures, wholeOption } from "./start-input.ts";

/** What runs the packages of each kind that has a runtime. */
type PackageRuntimes = NonNullable<ClusterPackageOptions["runtimes"]>;

const modes: readonly string[] = ["Deployment", "External"] satisfies PackageRuntimeMode[];

const kinds: readonly string[] = ["Function", "Provider"];

/** Nothing of a Configuration runs; Crossplane takes a mode for it all the same. */
const ignoredKind = "Configuration";

const expected = "Deployment, External, or one of them for a kind, such as Provider=Deployment;Function=External";

/** What a command line says about packages. */
export type StartPackages = Omit<ClusterPackageOptions, "directory" | "log" | "namespace">;

/** Reads what a command line says about packages. Throws a UserError that names the option and what it takes. */
export function readPackages(input: CommandInput, io: Io): StartPackages {
  return {
    runtimes: parsePackageRuntime(textOption(input, "packageRuntime") ?? ""),
    serviceAccount: textOption(input, "serviceAccount"),
    clientSecretName: textOption(input, "tlsClientSecretName"),
    registry: { ca: readBundle(input, io), userAgent: textOption(input, "userAgent") },
    ...revisionFeatures(input),
    developmentFunctions: isSet(input, "allowDevelopmentFunctions"),
    managedResourceConversion: isSet(input, "enableCustomToManagedResourceConversion"),
    dependencyVersions: dependencyVersions(input),
    maxConcurrentEstablishers: wholeOption(input, "maxConcurrentPackageEstablishers"),
  };
}

function readBundle(input: CommandInput, io: Io): string | undefined {
  const file = textOption(input, "caBundlePath");
  return file === undefined ? undefined : readTextSync(resolve(io.cwd, file), `--ca-bundle-path ${file}`);
}

/** The package manager, and the folder it keeps packages in. */
interface OpenedPackages extends AsyncDisposable {
  readonly packages: ClusterPackages;
}

/** Opens the package manager. A temporary folder is removed afterwards. */
export async function openPackages(
  input: CommandInput,
  io: Io,
  options: StartPackages & { readonly namespace: string; readonly log: Log },
): Promise<OpenedPackages> {
  const wanted = cacheFolder(input, io);
  try {
    if (wanted !== undefined) {
      await makeFolder(wanted, 0o700);
      secureCacheDir(wanted, io);
    }
    const directory = wanted ?? (await mkdtemp(join(tmpdir(), "purlin-xpkg-")));
    const packages = await openClusterPackages({ ...options, directory });
    return {
      packages,
      async [Symbol.asyncDispose]() {
        if (wanted === undefined) await rm(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    if (isUserError(error)) throw error;
    throw new UserError(`cannot store packages in ${wanted ?? tmpdir()}: ${whyNoFolder(error)}; see --xpkg-cache-dir`, {
      cause: error,
    });
  }
}

/** Where packages are kept: in the folder that is named, or with this user's caches. */
function cacheFolder(input: CommandInput, io: Io): string | undefined {
  const { XDG_CACHE_HOME, HOME } = io.env;
  const named = textOption(input, "xpkgCacheDir");
  if (named !== undefined) return resolve(io.cwd, named);
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, ".cache"));
  return caches ? join(caches, "purlin", "xpkg") : undefined;
}

/** Reads --package-runtime: one mode for all kinds, or a mode for each kind that is named; the others run in Deployments. */
export function parsePackageRuntime(text: string): PackageRuntimes {
  if (isMode(text)) return { Function: text, Provider: text };
  const runtimes: Record<keyof PackageRuntimes, PackageRuntimeMode> = {
    Function: "Deployment",
    Provider: "Deployment",
  };
  const seen = new Set<string>();
  for (const part of text.split(";")) {
    const [kind = "", mode = "", ...rest] = part.split("=");
    if (!isMode(mode) || rest.length > 0 || !(isKind(kind) || kind === ignoredKind)) throw wrong(`not "${part}"`);
    if (seen.has(kind)) throw wrong(`and ${kind} is named twice in "${text}"`);
    seen.add(kind);
    if (isKind(kind)) runtimes[kind] = mode;
  }
  return runtimes;
}

function isMode(text: string): text is PackageRuntimeMode {
  return modes.includes(text);
}

function isKind(text: string): text is keyof PackageRuntimes {
  return kinds.includes(text);
}

function wrong(problem: string): UserError {
  return new UserError(`--package-runtime: expected ${expected}; ${problem}`, { exitCode: 2 });
}

interface WebhookDeps {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly log: Log;
}

/**
 * Opens the webhook of deletions, which every replica serves; the leader lets the API server call it. While Usages are off, it protects
 * managed resource definitions only. Without webhooks, the leader removes the configuration instead.
 */
export async function openUsageWebhook(
  input: CommandInput,
  { env, signal }: Pick<Io, "env" | "signal">,
  { client, namespace, log }: WebhookDeps,
): Promise<Pick<UsageWebhook, "configure"> & AsyncDisposable> {
  const url = readUrl(input);
  const failurePolicy = readPolicy(input);
  const usages = isSet(input, "enableUsages");
  const remove = closed((stopping) => removeUsageWebhook(client, stopping));
  if (!isSet(input, "enableWebhooks")) return remove;
  if (url === undefined && !env["KUBERNETES_SERVICE_HOST"]) {
    const reason = "the API server cannot reach a process outside the cluster: set --webhook-url";
    if (!usages) return remove;
    log.info("Usages do not protect resources", { reason });
    return closed(async () => {});
  }
  const port = Number(portOption(input, "webhookPort"));
  try {
    const webhook = await startUsageWebhook(
      {
        client,
        namespace,
        url,
        failurePolicy,
        usages,
        listen: { port, host: url !== undefined && isLoopback(url) ? "127.0.0.1" : undefined },
        secretName: textOption(input, "tlsServerSecretName") ?? "",
        clock: systemClock,
        log,
      },
      signal,
    );
    log.info("serving webhooks", { port: webhook.port });
    return webhook;
  } catch (error) {
    throw new UserError(`cannot serve the webhook of deletions: ${textOf(error)}; see --enable-webhooks`, {
      cause: error,
    });
  }
}

function closed(configure: UsageWebhook["configure"]): Pick<UsageWebhook, "configure"> & AsyncDisposable {
  return { configure, async [Symbol.asyncDispose]() {} };
}

function isLoopback(url: string): boolean {
  return ["localhost", "127.0.0.1"].includes(new URL(url).hostname);
}

function readUrl(input: CommandInput): string | undefined {
  const text = textOption(input, "webhookUrl");
  if (text === undefined || (URL.canParse(text) && new URL(text).protocol === "https:")) return text;
  throw new UserError(`--webhook-url: expected a URL such as https://purlin.example.org:9443, not "${text}"`, {
    exitCode: 2,
  });
}

function readPolicy(input: CommandInput): "Fail" | "Ignore" {
  const text = textOption(input, "usageWebhookFailurePolicy") ?? "Fail";
  if (text === "Fail" || text === "Ignore") return text;
  throw new UserError(`--usage-webhook-failure-policy: expected Fail or Ignore, not "${text}"`, { exitCode: 2 });
}
