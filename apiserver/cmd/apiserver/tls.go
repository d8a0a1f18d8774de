package main

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// serverTLS is the configuration of each new connection.
type serverTLS func(*tls.ClientHelloInfo) (*tls.Config, error)

// follow returns the configuration for the current content of the files, and reads changed files until ctx ends. A gateway
// without TLS has no certificates and no configuration.
func (c *certificates) follow(ctx context.Context, mode authn.Mode) (serverTLS, error) {
	if c == nil {
		return nil, nil
	}
	base := &tls.Config{MinVersion: tls.VersionTLS12}
	var ca dynamiccertificates.CAContentProvider
	switch {
	case mode == authn.Impersonate:
		base.ClientAuth = tls.RequestClientCert // verified by the identifier, which knows two CAs
	case c.clientCA != nil:
		base.ClientAuth, ca = tls.RequireAndVerifyClientCert, c.clientCA
	}
	controller := dynamiccertificates.NewDynamicServingCertificateController(base, ca, c.serving, nil, nil)
	c.serving.AddListener(controller)
	go c.serving.Run(ctx, 1)
	for _, ca := range []*dynamiccertificates.DynamicFileCAContent{c.clientCA, c.proxyCA} {
		if ca != nil {
			ca.AddListener(controller)
			go ca.Run(ctx, 1)
		}
	}
	if err := controller.RunOnce(); err != nil {
		return nil, fmt.Errorf("preparing TLS: %w", err)
	}
	go controller.Run(1, ctx.Done())
	return controller.GetConfigForClient, nil
}

// config returns the configuration for application protocols in the order of preference.
func (s serverTLS) config(protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := s(hello) // a copy
		if err == nil {
			c.NextProtos = protocols
		}
		return c, err
	}}
}
