// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { lockFolder } from "./lock-folder.ts";
import type { Command, Peer } from "./peer.ts";
import { sourceDigest } from "./source-digest.ts";

const recorder = join(import.meta.dirname, "..", "record");
const sources = join(recorder, "crossplane-go");
/** Both programs of the recorder read questions and write answers in the same way. */
const shared = join(recorder, "go", "main.go");

/** A program of ours around the libraries of Crossplane that derive CRDs and compare versions: the recorder asks it. */
export const crossplaneAnswers: Peer = {
  name: `crossplane-answers-${sourceDigest(sources, shared)}`,
  // Of crossplane-runtime, as in the go.mod of the program.
  version: "2.4.0",
  needs: [
    {
      program: "go",
      args: ["version"],
      remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
    },
  ],
  commands: (directory) => {
    const module = join(directory, "module");
    const lock = lockFolder("crossplane-answers", crossplaneAnswers.version);
    const go = (...args: string[]): Command => ({
      program: "nice",
      args: ["-n", "10", "go", ...args],
      directory: module,
    });
    return [
      { program: "cp", args: ["-r", sources, module] },
      { program: "cp", args: [shared, join(lock, "go.mod"), join(lock, "go.sum"), module] },
      go("build", "-mod=readonly", "-p", "2", "-o", crossplaneAnswersIn(directory), "."),
    ];
  },
  proof: (directory) => ({ program: "go", args: ["version", "-m", crossplaneAnswersIn(directory)] }),
};

/** The installed program. */
export function crossplaneAnswersIn(directory: string): string {
  return join(directory, "answers");
}
