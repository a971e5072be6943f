// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import type { Command, Peer } from "./peer.ts";
import { sourceDigest } from "./source-digest.ts";

const repository = join(import.meta.dirname, "..", "..");
const sources = join(repository, "test", "interop", "packages", "programs", "go");
const protos = join(repository, "packages", "function-protocol", "proto");
const proto = "apiextensions/fn/proto/v1/run_function.proto";
const module = "purlin.dev/interop/function";

/** A function in Go, without an SDK: one static program on code that is generated from our own proto while it is built. */
export const goFunction: Peer = {
  name: `go-function-${sourceDigest(sources)}`,
  version: "1.83.2",
  needs: [
    {
      program: "go",
      args: ["version"],
      remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
    },
  ],
  commands: (directory) => {
    const copy = join(directory, "module");
    const plugins = ["google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"];
    return [
      { program: "cp", args: ["-r", sources, copy] },
      inModule(copy, ["build", "-p", "2", "-o", `${directory}/`, ...plugins]),
      generate(directory, copy),
      inModule(copy, ["build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", goFunctionIn(directory), "."]),
    ];
  },
  // The version of gRPC it was built with.
  proof: (directory) => ({ program: "go", args: ["version", "-m", goFunctionIn(directory)] }),
};

/** The program of an installed Go function. */
export function goFunctionIn(directory: string): string {
  return join(directory, "function");
}

function generate(directory: string, out: string): Command {
  const opt = [`module=${module}`, `M${proto}=${module}/proto`];
  const plugins = ["protoc-gen-go", "protoc-gen-go-grpc"].map((name) => ({ local: join(directory, name), out, opt }));
  const template = JSON.stringify({ version: "v2", plugins });
  const program = join(repository, "node_modules", ".bin", "buf");
  return { program, args: ["generate", protos, "--path", join(protos, proto), "--template", template] };
}

function inModule(directory: string, args: readonly string[]): Command {
  return { program: "nice", args: ["-n", "10", "go", ...args], directory, env: { CGO_ENABLED: "0" } };
}
