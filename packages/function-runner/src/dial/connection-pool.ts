// SPDX-License-Identifier: Apache-2.0
import { type FunctionTarget, RunnerError, textOf } from "../function-runner.ts";
import { type ConnectionOptions, FunctionConnection } from "./connection.ts";

/** How long calls on a connection that was replaced may take. */
export const drainLimitMs = 120_000;

/** Returns the revisions that still serve. */
export interface LiveRevisions {
  /** The names of all revisions that may be called: those that exist and are Active. */
  list(): Promise<Iterable<string>>;
}

/** What a pool holds right now. */
export interface PoolStats {
  readonly connections: number;
  /** Connections that were replaced and wait for their last calls. */
  readonly draining: number;
  readonly openSockets: number;
  readonly callsInFlight: number;
}

interface Entry {
  readonly revisionName: string;
  readonly endpoint: string;
  readonly plaintext: boolean;
  readonly connection: FunctionConnection;
}

/** Connections by function revision. */
export class ConnectionPool {
  readonly #options: ConnectionOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #retired = new Set<Entry>();
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** The connection to a revision, a new one when its endpoint has changed. The old one finishes its runs. */
  connectionTo(target: FunctionTarget): FunctionConnection {
    if (this.#closed) throw new RunnerError("CLOSED", "the function runner has been shut down");
    const known = this.#entries.get(target.revisionName);
    if (known !== undefined && leadsTo(known, target)) return known.connection;
    // A run that began before the endpoint changed continues where it is, instead of changing it back.
    for (const old of this.#retired) if (leadsTo(old, target) && !old.connection.isClosed) return old.connection;
    const entry = this.#connect(target);
    this.#entries.set(target.revisionName, entry);
    if (known !== undefined) this.#retire(known);
    return entry.connection;
  }

  #connect(target: FunctionTarget): Entry {
    const { functionName, revisionName, endpoint, plaintext = false } = target;
    try {
      const tls = plaintext ? undefined : this.#options.tls;
      const options = { ...this.#options, tls, commonName: tls?.commonName?.(target) };
      return { revisionName, endpoint, plaintext, connection: new FunctionConnection(endpoint, options) };
    } catch (error) {
      const what = `cannot get gRPC client connection for Function "${functionName}"`;
      const where = `FunctionRevision "${revisionName}" has a bad target`;
      throw new RunnerError("BAD_TARGET", `${what}: ${where}: ${textOf(error)}`, { cause: error });
    }
  }

  #retire(entry: Entry): void {
    for (const old of this.#retired) if (old.connection.isGone) this.#retired.delete(old);
    entry.connection.drain(drainLimitMs);
    this.#retired.add(entry);
  }

  /** Retires the connections of revisions that no longer serve, and says how many. */
  async collect(live: LiveRevisions): Promise<number> {
    if (this.#entries.size === 0) return 0;
    // Taken before the list, which cannot know a revision that is called for the first time while it is read.
    const candidates = [...this.#entries];
    const names = new Set(await live.list());
    let retired = 0;
    for (const [name, entry] of candidates) {
      if (names.has(name) || this.#entries.get(name) !== entry) continue;
      this.#entries.delete(name);
      this.#retire(entry);
      retired++;
    }
    return retired;
  }

  /** Ends all connections and their calls. */
  close(): void {
    this.#closed = true;
    for (const entry of this.#entries.values()) this.#retired.add(entry);
    this.#entries.clear();
    for (const { connection } of this.#retired) connection.close();
  }

  stats(): PoolStats {
    const retired = [...this.#retired].map(({ connection }) => connection);
    const all = [...[...this.#entries.values()].map(({ connection }) => connection), ...retired];
    return {
      connections: this.#entries.size,
      draining: retired.filter(({ isGone }) => !isGone).length,
      openSockets: sum(all.map(({ openSockets }) => openSockets)),
      callsInFlight: sum(all.map(({ callsInFlight }) => callsInFlight)),
    };
  }
}

function leadsTo(entry: Entry, { revisionName, endpoint, plaintext = false }: FunctionTarget): boolean {
  return entry.revisionName === revisionName && entry.endpoint === endpoint && entry.plaintext === plaintext;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
