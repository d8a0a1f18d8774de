package main

import (
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"gopkg.in/natefinch/lumberjack.v2"
	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Rotation of the log file, as in KubeRay 1.7.
const (
	logFileMegabytes = 500
	logFileBackups   = 10
	logFileDays      = 30
)

// KubeRay's encodings and their names in component-base.
var encodings = map[string]string{"json": "json", "console": "text"}

// LogOptions configure the destinations and formats of the log.
type LogOptions struct {
	// Standard is the format and verbosity for standard error.
	Standard *logsapi.LoggingConfiguration
	// File is a second destination, rotated; empty means none.
	File string
	// FileEncoder is json or console.
	FileEncoder string

	stdoutEncoder string
	// Flags of KubeRay's logging library.
	zapEncoder, zapLevel                   string
	zapDevel                               bool
	zapStacktraceLevel, zapTimeEncodingStr string
}

func newLogOptions() LogOptions {
	return LogOptions{Standard: logsapi.NewLoggingConfiguration(), FileEncoder: "json"}
}

func (o *LogOptions) addFlags(fs *pflag.FlagSet) {
	logsapi.AddFlags(o.Standard, fs)
	fs.StringVar(&o.stdoutEncoder, "log-stdout-encoder", "", `Format of the log: "json" equals --logging-format=json, "console" equals --logging-format=text.`)
	fs.StringVar(&o.File, "log-file-path", "", "File that gets a copy of the log. It is rotated at 500 MB; 10 old files are kept for 30 days.")
	fs.StringVar(&o.FileEncoder, "log-file-encoder", o.FileEncoder, `Format of the log file: "json" or "console".`)

	deprecated := func(name, instead string) { _ = fs.MarkDeprecated(name, instead) } // fails for unknown names only
	fs.StringVar(&o.zapLevel, "zap-log-level", "", "Verbosity: debug, info, error, panic, or a whole number above 0.")
	deprecated("zap-log-level", "use -v")
	fs.StringVar(&o.zapEncoder, "zap-encoder", "", "Log format: json or console; --log-stdout-encoder wins.")
	deprecated("zap-encoder", "use --logging-format")
	fs.BoolVar(&o.zapDevel, "zap-devel", false, "No effect.")
	fs.Lookup("zap-devel").NoOptDefVal = "true"
	deprecated("zap-devel", "it has no effect; use -v=4 --logging-format=text")
	fs.StringVar(&o.zapStacktraceLevel, "zap-stacktrace-level", "", "No effect.")
	deprecated("zap-stacktrace-level", "it has no effect")
	fs.StringVar(&o.zapTimeEncodingStr, "zap-time-encoding", "", "No effect.")
	deprecated("zap-time-encoding", "it has no effect")
}

// complete merges the flags for the same setting.
func (o *LogOptions) complete(all *Options) []error {
	return append(o.completeFormats(all), o.completeVerbosity(all.flags))
}

func (o *LogOptions) completeFormats(all *Options) []error {
	fs := all.flags
	var errs []error
	encoder := func(flag, value string) string {
		format, ok := encodings[value]
		if !ok && value != "" {
			errs = append(errs, fmt.Errorf("%s is %q, but must be json or console", all.nameOf(flag), value))
		}
		return format
	}
	if format := encoder("zap-encoder", o.zapEncoder); format != "" && !fs.Changed("logging-format") {
		o.Standard.Format = format
	}
	if format := encoder("log-stdout-encoder", o.stdoutEncoder); format != "" {
		if fs.Changed("logging-format") && fs.Changed("log-stdout-encoder") && o.Standard.Format != format {
			errs = append(errs, fmt.Errorf("--log-stdout-encoder=%s and --logging-format=%s contradict each other; leave one out", o.stdoutEncoder, o.Standard.Format))
		} else if !fs.Changed("logging-format") {
			o.Standard.Format = format
		}
	}
	encoder("log-file-encoder", o.FileEncoder)
	if o.FileEncoder == "" {
		o.FileEncoder = "json"
	}
	return errs
}

func (o *LogOptions) completeVerbosity(fs *pflag.FlagSet) error {
	if o.zapLevel == "" {
		return nil
	}
	v, err := verbosity(o.zapLevel)
	if err == nil && !fs.Changed("v") {
		o.Standard.Verbosity = v
	}
	return err
}

func (o *LogOptions) validate() []error {
	if err := logsapi.Validate(o.Standard, nil, nil).ToAggregate(); err != nil {
		return []error{err}
	}
	return nil
}

// verbosity converts a level. Levels below info mean info, because errors need their context.
func verbosity(level string) (logsapi.VerbosityLevel, error) {
	switch level {
	case "info", "error", "panic":
		return 0, nil
	case "debug":
		return 1, nil
	}
	n, err := strconv.ParseUint(level, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("--zap-log-level is %q, but must be debug, info, error, panic or a whole number above 0; better use -v", level)
	}
	return logsapi.VerbosityLevel(n), nil
}

// start configures logging of klog and controller-runtime. The returned function closes the file.
func (o *LogOptions) start() (func(), error) {
	if err := logsapi.ValidateAndApply(o.Standard, nil); err != nil {
		return nil, fmt.Errorf("setting up logging: %w", err)
	}
	stop := func() {}
	if o.File != "" {
		file := &lumberjack.Logger{Filename: o.File, MaxSize: logFileMegabytes, MaxBackups: logFileBackups, MaxAge: logFileDays}
		// The first write opens the file. Detect an error now, not during operation.
		if _, err := file.Write(nil); err != nil {
			return nil, fmt.Errorf("opening the log file %q (see --log-file-path): %w", o.File, err)
		}
		klog.SetLogger(logr.New(tee{klog.Background().GetSink(), o.fileLogger(file).GetSink()}))
		stop = func() { _ = file.Close() }
	}
	ctrl.SetLogger(klog.Background())
	return stop, nil
}

// fileLogger writes messages of verbosity 0, regardless of the verbosity of the other destination.
func (o *LogOptions) fileLogger(file *lumberjack.Logger) logr.Logger {
	if o.FileEncoder == "console" {
		return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(file)))
	}
	log, _ := logsjson.NewJSONLogger(0, zapcore.Lock(zapcore.AddSync(file)), nil, nil)
	return log
}
