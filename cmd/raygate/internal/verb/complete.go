package verb

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

const (
	// completeLimit is how long a shell is kept waiting for names.
	completeLimit = 3 * time.Second
	// maxNames is the maximum number of completions.
	maxNames = 200
)

// completeObjects completes types, and names of objects by asking the gateway. needsName offers TYPE/ from the beginning.
func completeObjects(flags *connect.Flags, needsName bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		typeName, prefix, pair := strings.Cut(begun, "/")
		switch {
		case pair:
			k, err := kind.Named(typeName)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(cmd.Context(), flags, k, prefix, typeName+"/"), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			return types(begun, needsName), cobra.ShellCompDirectiveNoFileComp
		case strings.Contains(args[0], "/"):
			return types(begun, needsName), cobra.ShellCompDirectiveNoFileComp
		}
		k, err := kind.Named(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := slices.DeleteFunc(names(cmd.Context(), flags, k, begun, ""), func(name string) bool { return slices.Contains(args[1:], name) })
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne completes the name of one object of a kind, also behind its type.
func completeOne(flags *connect.Flags, of *raygate.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		k, _ := kind.OfObject(of.Name)
		prefix, before := begun, ""
		if typeName, name, pair := strings.Cut(begun, "/"); pair {
			prefix, before = name, typeName+"/"
		}
		return names(cmd.Context(), flags, k, prefix, before), cobra.ShellCompDirectiveNoFileComp
	}
}

func types(begun string, needsName bool) []string {
	var all []string
	for _, k := range kind.All() {
		all = append(all, k.Plural, k.Singular, k.Short+"s", k.Short)
	}
	if !needsName {
		all = append(all, kind.Everything)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// names returns the names of objects, each after the text before. It ignores errors, because completion in a shell cannot show them.
func names(ctx context.Context, flags *connect.Flags, k *kind.Kind, prefix, before string) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeLimit)
	defer cancel()
	namespace, err := flags.NamespaceOrDefault()
	if err != nil {
		return nil
	}
	client, err := flags.Dial(nil)
	if err != nil {
		return nil
	}
	defer func() { _ = client.Close() }()
	var found []string
	for m, err := range client.Messages(k.Kind, namespace).List(ctx, raygate.ListOptions{Basic: true, PageSize: maxNames}) {
		if err != nil || len(found) == maxNames {
			break
		}
		if name := nameOf(m); strings.HasPrefix(name, prefix) {
			found = append(found, before+name)
		}
	}
	return found
}

// completeFlags completes the values of flags that have a few.
func completeFlags(cmd *cobra.Command, flags *connect.Flags) {
	values := map[string][]string{
		"output": output.Forms, "dry-run": {"none", "server"}, "cascade": {"background", "foreground", "orphan"},
		"for": {"ready", "complete", "suspended", "deleted", "condition="}, "source": {"driver", "submitter"},
		"submission-mode": {"K8sJobMode", "HTTPMode", "SidecarMode"},
		"order-by":        {"name", "createTime", "state", "createTime desc"},
	}
	for name, possible := range values {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(possible, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	completeCluster(cmd, flags)
	_ = cmd.RegisterFlagCompletionFunc("context", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath, _ = cmd.Flags().GetString("kubeconfig")
		config, err := rules.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found []string
		for name := range config.Contexts {
			if strings.HasPrefix(name, begun) {
				found = append(found, name)
			}
		}
		slices.Sort(found)
		return found, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeCluster completes the flag --cluster.
func completeCluster(cmd *cobra.Command, flags *connect.Flags) {
	if cmd.Flags().Lookup("cluster") == nil {
		return
	}
	_ = cmd.RegisterFlagCompletionFunc("cluster", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		clusters, _ := kind.OfObject(raygate.ClusterKind.Name)
		return names(cmd.Context(), flags, clusters, begun, ""), cobra.ShellCompDirectiveNoFileComp
	})
}
