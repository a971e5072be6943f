// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type ApiListener,
  type ApiServer,
  type ApiServerOptions,
  type AuditOptions,
  type Authorization,
  defaultPlugins,
  isHolderEnding,
  isStoreError,
  startApiServer,
  staticTokens,
  type WriteGuard,
} from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import type { JsonObject } from "@purlin/kube-objects/json";
import { makeFolder, replaceFile, whyNoFolder } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { listenKeepably } from "../project/keepable-port.ts";
import { secureDataDir } from "../project/secure-data-dir.ts";
import { textOf, UserError } from "../user-error.ts";
import { type AuditSettings, openAuditLog } from "./audit-log.ts";
import { collectWhenIdle } from "./collect-when-idle.ts";

/** An API server in this process that clients reach on loopback. */
export interface EmbeddedServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly url: string;
  /** The kubeconfig of the operator: a user who can read it has all rights. */
  readonly kubeconfig: string;
  /** Resolves when the API server has all that every cluster has. Rejects with a UserError when that cannot be stored. */
  readonly bootstrapped: Promise<void>;
}

/** Where it keeps its data and listens, and the callback for errors while it runs. */
export interface EmbeddedServerOptions {
  /** Absolute; made if it is not there. */
  readonly directory: string;
  /** 0 for any free one; that of the last start unless given. */
  readonly port: number | undefined;
  readonly warn: (text: string) => void;
  /** Replace certificates that are damaged. Default: say what is damaged, and end. */
  readonly repairCertificates?: boolean;
  /** Called within a minute after the system clock was set forward or back. */
  readonly onClockJump?: (byMs: number) => void;
  /** Serve what is in a directory that cannot be written. Default: say that it cannot be, and end. */
  readonly servesReadOnly?: boolean;
  /** Go on without writes that were acknowledged and are no longer in the directory. Default: say so, and end. */
  readonly acceptsLoss?: boolean;
  /** Requests of one user that are answered at the same time. Default 400. */
  readonly maxRequestsInFlight?: number | undefined;
  /** Metrics of the other parts of the process, as text for Prometheus. Default: none. */
  readonly otherMetrics?: () => Promise<string>;
  /** Documents of the other parts of the process, by path. Default: none. */
  readonly documents?: ApiServerOptions["documents"];
  /** Log requests. Default: no audit log. */
  readonly audit?: AuditSettings | undefined;
  /** Where webhooks of Services are, by `NAMESPACE/NAME:PORT`. */
  readonly webhookTargets?: ApiServerOptions["webhookTargets"];
  /** Names of the admission plugins to run. Default: those that run by default. */
  readonly admissionPlugins?: readonly string[];
  /** Forbids writes by their effect. Default: none is forbidden. */
  readonly guard?: WriteGuard | undefined;
  /** Forbids deletions. Default: none is forbidden. */
  readonly guardDelete?: ApiServerOptions["guardDelete"];
  /** How requests are authorized. Default "rbac". */
  readonly authorization?: Authorization | undefined;
  /** Called with each request that is denied. */
  readonly onDenied?: ApiServerOptions["onDenied"];
  /** Roles of the controllers in this process. */
  readonly roles?: readonly JsonObject[];
}

/** Requests of one user that may wait, for each that is answered. */
const waitingForEach = 4;

/** The limit of requests that a user asked for; undefined when none. */
export function readMaxRequestsInFlight(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const most = Number(value);
  if (Number.isInteger(most) && most > 0) return most;
  throw new UserError(`--max-requests-inflight ${String(value)}: expected an integer of at least 1`, { exitCode: 2 });
}

/** The value of --authorization. */
export function readAuthorization(value: unknown): Authorization {
  if (value === undefined || value === "rbac") return "rbac";
  if (value === "admin") return "admin";
  throw new UserError(`--authorization ${String(value)}: expected rbac or admin`, { exitCode: 2 });
}

/** The port a user asked for; undefined when none. */
export function readPort(value: unknown, flag = "--port"): number | undefined {
  if (value === undefined) return undefined;
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new UserError(`${flag} ${String(value)}: expected a port from 0 (any free port) to 65535`, {
    exitCode: 2,
  });
}

/** Starts an API server, lets it listen and writes its kubeconfig. */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { directory } = options;
  const renewal = { rewrite: (): void => {} };
  const audit = options.audit && (await openAuditLog(options.audit, options.warn));
  const server = await start({ ...options, auditLog: audit }, () => renewal.rewrite());
  try {
    const listener = await listen(server, options);
    const kubeconfig = join(directory, "kubeconfig");
    await keepFile(kubeconfig, listener.kubeconfig, { server, warn: options.warn });
    renewal.rewrite = () => {
      replaceFile(kubeconfig, listener.kubeconfig).catch((error: unknown) =>
        options.warn(`warning: cannot write the renewed certificates to ${kubeconfig}: ${textOf(error)}`),
      );
    };
    const stopCollecting = collectWhenIdle();
    const close = async (): Promise<void> => {
      stopCollecting();
      await server.close();
      audit?.[Symbol.dispose]();
    };
    const bootstrapped = server.bootstrapped.catch((error: unknown) => {
      throw startError(directory, error);
    });
    // Callers await it later.
    bootstrapped.catch(() => {});
    return { server, url: listener.url, kubeconfig, bootstrapped, [Symbol.asyncDispose]: close };
  } catch (error) {
    await server.close();
    throw error;
  }
}

interface StartOptions extends EmbeddedServerOptions {
  readonly auditLog: AuditOptions | undefined;
}

async function start(options: StartOptions, onRenewed: () => void): Promise<ApiServer> {
  const {
    directory,
    warn,
    servesReadOnly = false,
    repairCertificates = false,
    acceptsLoss = false,
    onClockJump,
    maxRequestsInFlight: atOnce,
    auditLog,
    otherMetrics,
    documents,
    guard,
    guardDelete,
    webhookTargets = new Map(),
    admissionPlugins = defaultPlugins,
    authorization = "rbac",
    roles = [],
    onDenied,
  } = options;
  try {
    await makeFolder(directory, 0o700);
    secureDataDir(directory);
    const token = await keptMetricsToken(directory);
    const startServer = (): Promise<ApiServer> =>
      startApiServer({
        kinds: builtinKinds,
        directory,
        authorization,
        webhookTargets,
        admissionPlugins,
        roles,
        onDenied,
        servesReadOnly,
        acceptsLoss,
        onRenewed,
        repairCertificates,
        tokens: [staticTokens(new Map([[token, metricsUser]]))],
        ...(otherMetrics !== undefined && { otherMetrics }),
        ...(auditLog !== undefined && { audit: auditLog }),
        guard,
        guardDelete,
        documents,
        ...(atOnce !== undefined && { inFlightLimits: { atOnce, waiting: atOnce * waitingForEach } }),
        onClockJump: (byMs) => {
          warn(`warning: ${clockJumpText(byMs)}`);
          onClockJump?.(byMs);
        },
        onWarning: (text) => warn(`warning: ${text}`),
        onUnexpected: (error, { method, path }) => warn(`error: ${method} ${path}: ${textOf(error)}`),
        onControllerError: (error) => warn(`error: ${textOf(error)}; will retry`),
      });
    const server = await whenFree(directory, warn, startServer);
    if (!server.isReadOnly) await keepMetricsToken(join(directory, metricsTokenFile), token, warn);
    if (server.isReadOnly)
      warn(`warning: --data-dir ${directory} is read-only: serving existing data, rejecting writes`);
    return server;
  } catch (error) {
    throw startError(directory, error);
  }
}

/** An error of the data directory, as the user sees it. */
function startError(directory: string, error: unknown): unknown {
  if (!isStoreError(error) && !isFileError(error)) return error;
  return new UserError(`--data-dir ${directory}: ${whyNoFolder(error)}`, { cause: error });
}

/** How long to wait for a process that was killed, and how often to look. */
const endingMs = 15_000;
const lookMs = 50;

/** Starts a server in a directory as soon as the process that was killed in it is gone. */
async function whenFree(
  directory: string,
  warn: (text: string) => void,
  startServer: () => Promise<ApiServer>,
): Promise<ApiServer> {
  const deadline = performance.now() + endingMs;
  for (let tries = 0; ; tries++) {
    try {
      return await startServer();
    } catch (error) {
      const isLocked = isStoreError(error) && error.code === "locked";
      if (!isLocked || performance.now() > deadline || !isHolderEnding(directory)) throw error;
      if (tries === 0) warn("the last control plane of this data directory was killed and is ending: waiting for it");
      await delay(lookMs);
    }
  }
}

/** The user of the token for metrics in the data directory: nothing else is allowed. */
const metricsUser = { name: "system:purlin:metrics", groups: ["system:monitoring"] };

/** The token with which a Prometheus reads metrics, in a file of its own; a new one at the first start. */
async function keptMetricsToken(directory: string): Promise<string> {
  const kept = (await readFile(join(directory, metricsTokenFile), "utf8").catch(() => "")).trim();
  return kept.length >= tokenBytes ? kept : randomBytes(tokenBytes).toString("base64url");
}

async function keepMetricsToken(file: string, token: string, warn: (text: string) => void): Promise<void> {
  if ((await readFile(file, "utf8").catch(() => "")).trim() === token) return;
  // A server that starts on a full disk is more useful than its metrics.
  await replaceFile(file, token).catch((error: unknown) => warn(`warning: cannot write ${file}: ${textOf(error)}`));
}

const metricsTokenFile = "metrics-token";
const tokenBytes = 32;

/** The message about a change of the system clock. */
function clockJumpText(byMs: number): string {
  const seconds = Math.round(Math.abs(byMs) / 1000);
  return `the system clock was set ${byMs > 0 ? "forward" : "back"} by ${seconds}s; renewing certificates that are not valid now`;
}

const isFileError = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException)?.syscall === "string";

/** Listens on the port asked for, else on that of the last start: clients keep their kubeconfig. */
async function listen(server: ApiServer, { directory, port, warn }: EmbeddedServerOptions): Promise<ApiListener> {
  const file = join(directory, "port");
  const last = await keptPort(file);
  const listener = await listenKeepably(port ?? last, (chosen) => server.listen({ port: chosen })).catch(
    (error: unknown) => {
      throw portError(error, { port, last });
    },
  );
  // A port that was asked for this once is not kept.
  if (!port && listener.port !== last) await keepFile(file, `${listener.port}\n`, { server, warn });
  return listener;
}

async function keptPort(file: string): Promise<number> {
  const port = Number(await readFile(file, "utf8").catch(() => "0"));
  return Number.isInteger(port) && port > 0 && port <= 65535 ? port : 0;
}

function portError(error: unknown, { port, last }: { port: number | undefined; last: number }): UserError {
  const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
  const advice = "choose another port with --port, or 0 for any free port";
  if (!isTaken) return new UserError(`--port ${port ?? last}: ${textOf(error)}: ${advice}`, { cause: error });
  const which = port === undefined ? `port ${last}, which the API server used before,` : `--port ${port}`;
  const stop = port === undefined ? "stop that program, or " : "";
  return new UserError(`${which} is in use by another program: ${stop}${advice}`, { cause: error });
}

interface Keeping {
  readonly server: ApiServer;
  readonly warn: (text: string) => void;
}

/** Writes a file unless it has that content already. A write error is only a warning: the server still starts. */
async function keepFile(path: string, text: string, { server, warn }: Keeping): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => "")) === text) return;
  try {
    await replaceFile(path, text);
  } catch (error) {
    if (!server.isReadOnly) throw error;
    warn(`warning: ${path} is out of date and cannot be written: ${textOf(error)}`);
  }
}

/** Resolves when the user asks the command to stop. */
export function untilStopped({ signal }: Io): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve: stop } = Promise.withResolvers<void>();
  // A listening server keeps the process alive; this waits for the word to stop.
  signal.addEventListener("abort", () => stop(), { once: true });
  return promise;
}
