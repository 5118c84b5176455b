"""The plugin API: one door for the features of prunecli and for everybody's plugins."""
