// SPDX-License-Identifier: Apache-2.0

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import {
  type ContentStore,
  type CredentialsFor,
  createRegistryClient,
  credentialsFromDockerConfig,
  firstCredentials,
  isImageReferenceError,
  isOciError,
  isPackageError,
  isPullSecretError,
  openContentStore,
  type Platform,
  provesToken,
  type RegistryClient,
  type RegistryCredentials,
} from "@purlin/oci";
import { kubeconfigVariable } from "../cluster/cluster-client.ts";
import { explain, readText, readTextIfThere } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { currentDataDir, dockerConfigPath } from "../project/project-file.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";

/** What Docker's `config.json` says about programs that keep credentials. */
interface HelperConfig {
  readonly credHelpers?: unknown;
  readonly credsStore?: unknown;
}

const timeoutMs = 60_000;

const maxAnswerBytes = 1024 * 1024;

/** Helpers say this, and nothing else, of a registry they do not know. */
const unknownRegistry = /credentials not found/i;

/** The name of a user that stands for a refresh token. */
const tokenUser = "<token>";

interface Question {
  readonly helper: string;
  readonly registry: string;
  readonly where: string;
}

/** What the commands for packages work with. */
export interface Workspace {
  /** Gone when the command ends. */
  readonly store: ContentStore;
  readonly client: RegistryClient;
}

/** Runs the work of a command with a store of its own, and reports errors with what the user can do about them. */
export async function inWorkspace<T>(
  input: CommandInput,
  io: Io,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "purlin-xpkg-"));
  try {
    const store = await openContentStore(folder);
    const client = createRegistryClient({ credentials: await findCredentials(input, io) });
    return await work({ store, client });
  } catch (error) {
    throw asUserError(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ownRegistryAdvice =
  'for the registry of "purlin up", run the command in its folder or set PURLIN_DATA_DIR to its data directory';

/** What the user can do something about, as a UserError; anything else as it is. */
export function asUserError(error: unknown): unknown {
  if (isUserError(error)) return error;
  if (isOciError(error, "UNAUTHORIZED")) {
    // The library mentions pull secrets, which only a control plane has.
    const what = textOf(error).replace(/; (?:check|create) .*$/, "");
    const login = `log in with "docker login", or specify a file with --registry-config`;
    const advice = /\b127\.0\.0\.1:/.test(what) ? `${login}; ${ownRegistryAdvice}` : login;
    return new UserError(`${what}: ${advice}`, { cause: error });
  }
  if (isOciError(error, "UNREACHABLE")) {
    const what = textOf(error).replace(/; check .*$/, "");
    return new UserError(`${what}: check the registry's name, and that it is running`, { cause: error });
  }
  if (isOciError(error) || isPackageError(error) || isImageReferenceError(error) || isPullSecretError(error)) {
    return new UserError(textOf(error), { cause: error });
  }
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code === "string" && typeof path === "string") {
    return new UserError(`${path}: ${explain(error)}`, { cause: error });
  }
  return error;
}

/**
 * The credentials of --registry-config, then those that `docker login` keeps, in its file or in a program of the system, then the token
 * of the registry of `purlin up`.
 */
export async function findCredentials(input: CommandInput, io: Io): Promise<CredentialsFor> {
  const sources: CredentialsFor[] = [];
  const given = textOption(input, "registryConfig");
  if (given !== undefined)
    sources.push(...sourcesIn(await readText(given, io, { what: "registry config" }), given, io));
  const file = dockerConfigFile(io);
  const kept = file === undefined ? undefined : await readTextIfThere(file, file);
  if (file !== undefined && kept !== undefined) sources.push(...sourcesIn(kept, file, io));
  return firstCredentials([...sources, ...ownRegistries(input, io)]);
}

/** The registries of the control planes that a command can mean: the one of its data directory, and the one of $KUBECONFIG. */
function ownRegistries(input: CommandInput, io: Io): readonly CredentialsFor[] {
  const folders = [currentDataDir(input, io), ...(kubeconfigVariable(io) ?? []).map((path) => dirname(path))];
  return [...new Set(folders)].map((folder) => ownRegistry(dockerConfigPath(folder)));
}

/** Looked up only for a registry that asks for credentials, and given only to one that proves that it has the token itself. */
function ownRegistry(file: string): CredentialsFor {
  return async (source) => {
    const text = await readTextIfThere(file, file).catch(() => undefined);
    const found = text === undefined ? undefined : credentialsFromDockerConfig(text, file)(source);
    if (found?.password === undefined) return undefined;
    const address = source.split("/", 1)[0] ?? "";
    return (await provesToken(address, found.password, randomUUID())) ? found : undefined;
  };
}

/** As Docker does: a helper is asked before the file, in which there is then often nothing but the name of the registry. */
function sourcesIn(text: string, where: string, io: Io): readonly CredentialsFor[] {
  const written = credentialsFromDockerConfig(text, where);
  return [credentialsFromHelpers(text, where, io), written];
}

function dockerConfigFile({ env, cwd }: Io): string | undefined {
  const folder = env["DOCKER_CONFIG"];
  if (folder !== undefined && folder !== "") return resolve(cwd, folder, "config.json");
  const home = env["HOME"];
  return home === undefined || home === "" ? undefined : join(home, ".docker", "config.json");
}

/** Asks the programs that a Docker `config.json` names: one for a registry, or one for all. They answer when a registry asks. */
function credentialsFromHelpers(text: string, where: string, io: Io): CredentialsFor {
  const { credHelpers, credsStore } = (JSON.parse(text) ?? {}) as HelperConfig;
  const byRegistry = (typeof credHelpers === "object" ? credHelpers : undefined) as Record<string, unknown> | undefined;
  return async (source) => {
    const [registry = ""] = source.split("/");
    const helper = byRegistry?.[registry] ?? credsStore;
    if (typeof helper !== "string" || helper === "") return undefined;
    return credentialsOf(await ask({ helper, registry, where }, io), `docker-credential-${helper}`);
  };
}

/** What a helper prints about a registry; undefined when it has no entry. */
function ask({ helper, registry, where }: Question, { env, signal, stderr }: Io): Promise<string | undefined> {
  // A name, never a path: config.json must not choose which file is run.
  if (!/^[A-Za-z0-9._-]+$/.test(helper))
    throw new UserError(`${where}: ${JSON.stringify(helper)} is not a valid credential helper name`);
  const program = `docker-credential-${helper}`;
  const options = { env: { ...env }, signal, timeout: timeoutMs, maxBuffer: maxAnswerBytes };
  return new Promise((resolve, reject) => {
    const child = execFile(program, ["get"], options, (error, stdout, said) => {
      if (error === null) return resolve(stdout);
      if (unknownRegistry.test(stdout) || unknownRegistry.test(said)) return resolve(undefined);
      if (error.code === "ENOENT") {
        // Often left over from an uninstalled Docker; many registries need no credentials.
        stderr.write(`warning: ${where}: ${program} not found; continuing without it\n`);
        return resolve(undefined);
      }
      const why = [stdout, said].map((one) => one.trim()).find((one) => one !== "") ?? error.message;
      reject(new UserError(`${program} returned no credentials for ${registry}: ${oneLine(why)}`, { cause: error }));
    });
    // A helper that exits without reading its input is reported above.
    child.stdin?.on("error", () => {});
    child.stdin?.end(registry);
  });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 300);
}

function credentialsOf(answer: string | undefined, program: string): RegistryCredentials | undefined {
  if (answer === undefined) return undefined;
  let read: { Username?: unknown; Secret?: unknown };
  try {
    read = (JSON.parse(answer) ?? {}) as typeof read;
  } catch (cause) {
    throw new UserError(`${program} returned invalid JSON`, { cause });
  }
  const { Username: username, Secret: secret } = read;
  if (typeof username !== "string" || typeof secret !== "string" || secret === "") return undefined;
  return username === tokenUser ? { identityToken: secret } : { username, password: secret };
}

/** The value of --platform. */
export function platformOption(input: CommandInput): Platform | undefined {
  const text = textOption(input, "platform");
  if (text === undefined) return undefined;
  const [, os, architecture, variant] = /^([a-z0-9]+)\/([a-z0-9]+)(?:\/([a-z0-9]+))?$/.exec(text) ?? [];
  if (os !== undefined && architecture !== undefined) {
    return variant === undefined ? { os, architecture } : { os, architecture, variant };
  }
  throw new UserError(`--platform ${text}: expected <os>/<architecture>, such as linux/amd64`, { exitCode: 2 });
}
