// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import {
  accessFromKubeconfig,
  type ClusterAccess,
  checkKubeconfig,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
  type KubeTransport,
} from "@purlin/kube-client";
import { isUnauthorized } from "@purlin/kube-objects/errors";
import { commandName } from "../command-name.ts";
import { readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import { harmlessLine } from "../harmless.ts";
import { eachOnce, type Io } from "../io.ts";
import { type CommandInput, listOption, parseDuration, textOption, timerDelay } from "../options/command-spec.ts";
import { currentDataDir, readProjectFile } from "../project/project-file.ts";
import { asInput, textOf, UserError } from "../user-error.ts";

/** The API server a command talks to, and the namespace it means when none is named. */
export interface Cluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly namespace: string;
  /** The data directory of `purlin up`, when the API server is its own. */
  readonly dataDirectory?: string | undefined;
  /** How to reach the API server apart from the client. */
  readonly access?: ClusterAccess | undefined;
}

/** How a command connects. */
interface ConnectOptions {
  /** Wraps the way to the API server. */
  readonly transport?: ((inner: KubeTransport) => KubeTransport) | undefined;
  /** Leave out the warnings that the API server sends. */
  readonly ignoresWarnings?: boolean;
  /** Whether --as and --as-group of the command name the user to impersonate: they do unless given. */
  readonly impersonates?: boolean;
}

/**
 * Connects to what --kubeconfig or --data-dir names, to what $KUBECONFIG lists, or to the control plane of `purlin up`. The
 * namespace is that of --namespace, of the kubeconfig's context, or of purlin.yaml.
 */
export async function openCluster(input: CommandInput, io: Io, options: ConnectOptions = {}): Promise<Cluster> {
  const { transport = (inner) => inner } = options;
  try {
    const place = findKubeconfig(input, io);
    const own = await asGiven(input, () => readAccess(place.files, input, io));
    const access = options.impersonates === false ? own : asUser(own, input);
    const client = createKubeClient(transport(withTimeout(createHttpsTransport(access), input)), {
      ...(!options.ignoresWarnings && {
        onWarning: eachOnce((text) => io.stderr.write(`warning: ${harmlessLine(text)}\n`)),
      }),
    });
    await reach(client, { ...place, server: access.server, io });
    const namespace = textOption(input, "namespace") ?? access.namespace ?? readProjectFile(io).namespace ?? "default";
    const dataDirectory = place.isOwn ? currentDataDir(input, io) : undefined;
    return { client, namespace, dataDirectory, access, [Symbol.asyncDispose]: () => client.close() };
  } catch (error) {
    return raiseUserError(error);
  }
}

/** Reads kubeconfig files. One that --kubeconfig names and that is wrong, or lacks the context, is wrong input: the exit code is 2. */
function asGiven<T>(input: CommandInput, read: () => Promise<T>): Promise<T> {
  return textOption(input, "kubeconfig") === undefined ? read() : asInput(() => read().catch(raiseUserError));
}

function raiseUserError(error: unknown): never {
  throw error instanceof UserError ? error : new UserError(textOf(error), { cause: error });
}

/** The names of the contexts that --context can choose. */
export function contextNames(input: CommandInput, io: Io): Promise<readonly string[]> {
  return readContexts(findKubeconfig(input, io).files, io);
}

/** A transport whose requests, but not watches, end after --request-timeout. */
function withTimeout(transport: KubeTransport, input: CommandInput): KubeTransport {
  const text = textOption(input, "requestTimeout");
  if (text === undefined) return transport;
  // As for kubectl, a number without a unit is one of seconds, and zero lifts the limit.
  const ms = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (ms === undefined)
    throw new UserError(`--request-timeout ${text}: expected a duration, such as 30s`, { exitCode: 2 });
  if (ms === 0) return transport;
  return {
    async request(request) {
      const limit = AbortSignal.timeout(timerDelay(ms));
      const signal = request.signal === undefined ? limit : AbortSignal.any([request.signal, limit]);
      try {
        return await transport.request({ ...request, signal });
      } catch (error) {
        if (!limit.aborted || request.signal?.aborted) throw error;
        const what = `${request.method} ${request.path}`;
        throw new UserError(`${what}: the API server did not answer within ${text}: raise --request-timeout`, {
          cause: error,
        });
      }
    },
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}

/** The access with the user that --as and --as-group name. */
function asUser(access: ClusterAccess, input: CommandInput): ClusterAccess {
  const user = textOption(input, "as");
  const groups = listOption(input, "asGroup");
  if (user === undefined && groups.length > 0) throw new UserError("--as-group: needs --as USER", { exitCode: 2 });
  if (user === undefined) return access;
  const { credentials } = access;
  const current = async (): ReturnType<typeof credentials.current> => ({
    ...(await credentials.current()),
    impersonate: { user, groups },
  });
  return { ...access, credentials: { refused: () => credentials.refused?.(), current } };
}

interface Place {
  readonly files: readonly string[];
  /** Whether the file is that of `purlin up`, and not one that the user named. */
  readonly isOwn: boolean;
}

function findKubeconfig(input: CommandInput, io: Io): Place {
  const given = textOption(input, "kubeconfig");
  if (given !== undefined) {
    const file = resolve(io.cwd, given);
    if (existsSync(file)) return { files: [file], isOwn: false };
    throw new UserError(`cannot read --kubeconfig ${given}: no such file: check the path`, { exitCode: 2 });
  }
  const listed = textOption(input, "dataDir") === undefined ? kubeconfigVariable(io) : undefined;
  if (listed?.some((file) => existsSync(file))) return { files: listed, isOwn: false };
  if (listed !== undefined)
    throw new UserError(`cannot read $KUBECONFIG ${listed.join(", ")}: no such file: correct or unset it`);
  const file = join(currentDataDir(input, io), "kubeconfig");
  if (existsSync(file)) return { files: [file], isOwn: true };
  const start = `start a control plane with "${commandName(io.env)} up", or specify another with --kubeconfig or $KUBECONFIG`;
  throw new UserError(`no control plane found: ${relative(io.cwd, file)} does not exist: ${start}`, {
    code: "NO_CONTROL_PLANE",
  });
}

interface Reaching extends Place {
  readonly server: string;
  readonly io: Io;
}

/** Fails before the command does anything where the API server cannot be reached. */
async function reach(client: KubeClient, { files, server, isOwn, io }: Reaching): Promise<void> {
  try {
    await client.raw({ method: "GET", path: "/version", signal: io.signal });
  } catch (error) {
    await client.close();
    const shown = files.map((file) => relative(io.cwd, file)).join(", ");
    if (isUnauthorized(error)) {
      const why = `the credentials in ${shown} are not valid, have expired or were revoked`;
      throw new UserError(`${textOf(error)}: ${why}`, { cause: error, code: "UNREACHABLE" });
    }
    const advice = isOwn
      ? `is the control plane of ${shown} running? start it with "${commandName(io.env)} up"`
      : `check the server and credentials in ${shown}`;
    throw new UserError(`cannot reach ${server}: ${textOf(error)}: ${advice}`, { cause: error, code: "UNREACHABLE" });
  }
}

/** The files that $KUBECONFIG lists; undefined where it is not set. */
export function kubeconfigVariable({ env, cwd }: Pick<Io, "env" | "cwd">): readonly string[] | undefined {
  const files = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  return files.length === 0 ? undefined : files.map((file) => resolve(cwd, file));
}

/** The access that kubeconfig files describe together: as kubectl has it, the first file to say something wins. */
export async function readAccess(files: readonly string[], input: CommandInput, io: Io): Promise<ClusterAccess> {
  const present = presentOf(files);
  const configs = await Promise.all(present.map((file) => readOne(file, io)));
  return accessFromKubeconfig(merge(configs), {
    file: present.join(delimiter),
    context: textOption(input, "context"),
    env: io.env,
  });
}

/** The names of the contexts in kubeconfig files, each once. */
export async function readContexts(files: readonly string[], io: Io): Promise<readonly string[]> {
  const configs = await Promise.all(presentOf(files).map((file) => readOne(file, io)));
  return [...new Set((merge(configs).contexts ?? []).map(({ name }) => name))];
}

/** kubectl skips files of a list that are missing. */
function presentOf(files: readonly string[]): readonly string[] {
  return files.length === 1 ? files : files.filter((file) => existsSync(file));
}

async function readOne(file: string, io: Io): Promise<Kubeconfig> {
  const [document] = parseYaml(await readText(file, io, { what: "kubeconfig" }), file);
  const config = checkKubeconfig(document?.value, file);
  const folder = dirname(file);
  return {
    ...config,
    clusters: (config.clusters ?? []).map((one) => ({ ...one, cluster: absolute(one.cluster, folder) })),
    users: (config.users ?? []).map((one) => ({ ...one, user: one.user && absolute(one.user, folder) })),
  };
}

const pathFields = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** Paths in a kubeconfig are relative to it. */
function absolute<T extends object>(entry: T, folder: string): T {
  const paths = Object.entries(entry).filter(([name, value]) => pathFields.includes(name) && value);
  return { ...entry, ...Object.fromEntries(paths.map(([name, value]) => [name, resolve(folder, String(value))])) };
}

function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  const currentContext = configs.map((config) => config["current-context"]).find((name) => name);
  return {
    ...(currentContext !== undefined && { "current-context": currentContext }),
    clusters: configs.flatMap(({ clusters = [] }) => clusters),
    users: configs.flatMap(({ users = [] }) => users),
    contexts: configs.flatMap(({ contexts = [] }) => contexts),
  };
}
