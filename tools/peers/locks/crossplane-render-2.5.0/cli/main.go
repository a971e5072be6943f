package main
import (
  "os"
  "reflect"
  "github.com/alecthomas/kong"
  "github.com/crossplane/cli/v2/cmd/crossplane/render/op"
  "github.com/crossplane/cli/v2/cmd/crossplane/render/xr"
  "github.com/crossplane/cli/v2/cmd/crossplane/validate"
  "github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)
func main() {
  var cmd any = &xr.Cmd{}
  words := os.Args[1:]
  if len(words) > 0 && words[0] == "operation" { cmd, words = &op.Cmd{}, words[1:] }
  if len(words) > 0 && words[0] == "validate" { cmd, words = &validate.Cmd{}, words[1:] }
  parser := kong.Must(cmd)
  ctx, err := parser.Parse(words)
  parser.FatalIfErrorf(err)
  run := reflect.ValueOf(cmd).MethodByName("Run")
  args := make([]reflect.Value, run.Type().NumIn())
  for i := range args {
    args[i] = reflect.Zero(run.Type().In(i))
    for _, known := range []any{ctx, logging.NewNopLogger()} {
      if reflect.TypeOf(known).AssignableTo(run.Type().In(i)) { args[i] = reflect.ValueOf(known) }
    }
  }
  if failure, ok := run.Call(args)[0].Interface().(error); ok { parser.FatalIfErrorf(failure) }
}
