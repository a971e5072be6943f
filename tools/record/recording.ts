// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "../../packages/kube-objects/src/json/index.ts";
import type { Peers } from "./peers.ts";

/** One question with the answer of a real peer, as a test reads it. */
export type Entry = JsonObject;

/** A file of test data that was recorded from a real peer, and how to record it again. */
export interface Recording {
  /** What `npm run record -- SUBJECT` selects it by. */
  readonly subject: string;
  /** Path in the repository. */
  readonly file: string;
  /** The entries in a file's text. */
  readonly parse: (text: string) => Entry[];
  /** The file's text with these entries. */
  readonly print: (entries: readonly Entry[], previous: string) => string;
  /** Asks the peer again: the same entries in the same order, each with a new answer. */
  readonly answer: (entries: readonly Entry[], peers: Peers) => Promise<Entry[]>;
  /** Recorded and checked only when its subject is named: its peer takes minutes to build. */
  readonly isOnRequest?: boolean;
  /** Entries depend on those before them, so that all are asked even where only some are checked. */
  readonly isSequence?: boolean;
  /** The parts of an entry that a check compares, without what differs from run to run. Default: all of it. */
  readonly comparable?: (entry: Entry) => unknown;
}
