// Serves the function with the flags every composition function has. See: node src/main.ts --help
import { main } from "@purlin/function-sdk";
import { fn } from "./function.ts";

await main(fn);
